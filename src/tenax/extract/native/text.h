/* The visible text of a page, and parts of it. */
#ifndef TENAX_TEXT_H
#define TENAX_TEXT_H

#include "page.h"

#define EMPTY ((const uint8_t *)"")

/* `text._marked`: the visible text with RUN before each run and PARAGRAPH within runs, and where they stand. */
Text text_with_marks(Arena *arena, const Walk *walk, Numbers *marks);

/* `Walk.box_text`: what stands in a box, in one line. */
Text box_text(Arena *arena, const Walk *walk, uint32_t box);

/* Some fragments in a row, with a space for each BREAK. */
Text spaced(Arena *arena, const Walk *walk, uint32_t start, uint32_t stop);

#endif
