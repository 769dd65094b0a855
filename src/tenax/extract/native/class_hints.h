/* What names and first words say of a part of a page: the words come from Python, see words.py. */
#ifndef TENAX_MARKS_H
#define TENAX_MARKS_H

#include "dom.h"

/* Takes the words, once for the process; what is given later is ignored. */
void native_set_class_hints(const uint8_t *data, size_t size);

bool are_class_hints_set(void);

/* What an element is marked with by its name and by its role alone. */
uint32_t find_tag_hints(uintptr_t tag);
uint32_t find_role_hints(Text role);

#endif
