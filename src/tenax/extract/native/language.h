/* The language of a text, by its script, its commonest words and its letters. */
#ifndef TENAX_LANGUAGE_H
#define TENAX_LANGUAGE_H

#include "dom.h"

/* language._detected of a sample in lower case. The confidence is as it was computed: Python rounds it. `tag->at` is
 * NULL where nobody knows. */
void detect_language(Arena *arena, Text lowered_sample, Text *tag, double *confidence);

#endif
