/* Hints from names and first words: `article.class_hints`. The data come from Python, see packed_tables.py. */
#ifndef TENAX_CLASS_HINTS_H
#define TENAX_CLASS_HINTS_H

#include "dom.h"

/* Takes the words, once per process; later calls are ignored. */
void native_set_class_hints(const uint8_t *data, size_t size);

bool are_class_hints_set(void);

/* The hints of an element by its tag name and by its role alone. */
uint32_t find_tag_hints(uint32_t tag);
uint32_t find_role_hints(Text role);

#endif
