/* What a box is called besides its tag, and whether it says that it is not shown: layout._marks_beside_class. */
#ifndef TENAX_NAMES_H
#define TENAX_NAMES_H

#include "page.h"

/* The attributes of a box that say what it is. */
typedef struct {
    Text class, id, itemprop, role, aria_hidden, style;
    bool is_hidden;
} Names;

Names names_of(const Node *node);

/* What a box is marked with by all of them but its class, which many boxes share. */
uint32_t find_attribute_hints(Page *page, const Names *names);

#endif
