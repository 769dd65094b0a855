/* Learned tables, which are sums of decision trees: `article.decision_trees`. */
#ifndef TENAX_DECISION_TREES_H
#define TENAX_DECISION_TREES_H

#include "page.h"

#define ROW_NUMBERS (BLOCK_FEATURE_COUNT + BOX_FEATURE_COUNT)

/* Takes the tables in the layout of packed_tables.py, once per process: a second call does nothing. With invalid
 * data, every page is unsupported. */
void native_set_decision_trees(const uint8_t *data, size_t size);

bool is_article_kind(const Page *page);
bool is_forum_kind(const Page *page);

/* The values of blocks, to be summed all at once. */
typedef struct {
    double *numbers;        /* of eight rows side by side: their first numbers, their second, ...; then eight more */
    uint32_t count, capacity;
} Rows;

Rows rows_for(Arena *arena, uint32_t capacity);
void add_row(Arena *arena, Rows *rows, const double numbers[ROW_NUMBERS]);

/* The sum of each row, by the table for articles or by the one for all other pages. Consumes the rows. */
const double *row_sums(Page *page, Rows *rows, bool is_article);

#endif
