/* The names of a box besides its tag, and whether it is declared hidden: `article.layout`
 * (`_find_attribute_hints`). */
#ifndef TENAX_NAMES_H
#define TENAX_NAMES_H

#include "page.h"

/* The attributes of a box that name it. */
typedef struct {
    Text class, id, itemprop, role, aria_hidden, style;
    bool is_hidden;
} Names;

Names names_of(const Node *element);

/* The hints of all of them but the class, which many boxes share. */
uint32_t find_attribute_hints(Page *page, const Names *names);

#endif
