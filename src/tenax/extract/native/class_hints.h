/* What names and first words say of a part of a page: the words come from Python, see words.py. */
#ifndef TENAX_MARKS_H
#define TENAX_MARKS_H

#include "dom.h"

/* Takes the words, once for the process; what is given later is ignored. */
void kernel_set_marks(const uint8_t *data, size_t size);

bool marks_are_set(void);

/* What an element is marked with by its name and by its role alone. */
uint32_t marks_of_tag(uintptr_t tag);
uint32_t marks_of_role(Text role);

#endif
