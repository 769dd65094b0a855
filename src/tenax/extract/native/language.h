/* The language of a text, by its script, its most common words and its letters. */
#ifndef TENAX_LANGUAGE_H
#define TENAX_LANGUAGE_H

#include "dom.h"

/* `language.detect.detect_sample` of a lower-case sample. The confidence is not rounded: Python does that. `tag->at`
 * is NULL if unknown. */
void detect_language(Arena *arena, Text lowered_sample, Text *tag, double *confidence);

#endif
