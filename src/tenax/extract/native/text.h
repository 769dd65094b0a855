/* The visible text of a page, and parts of it. */
#ifndef TENAX_TEXT_H
#define TENAX_TEXT_H

#include "page.h"

#define EMPTY ((const uint8_t *)"")

/* `visible.text_with_marks`: the visible text with VISIBLE_RUN_MARK before each run and VISIBLE_PARAGRAPH_MARK within
 * runs, and their positions. */
Text text_with_marks(Arena *arena, const Walk *walk, Numbers *marks);

/* `Walk.box_text`: the text of a box on one line. */
Text box_text(Arena *arena, const Walk *walk, uint32_t box);

/* Some fragments in sequence, with a space for each TREE_BREAK. */
Text spaced(Arena *arena, const Walk *walk, uint32_t start, uint32_t stop);

#endif
