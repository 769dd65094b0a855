/* What the steps of judging share: which blocks are asked about, the numbers of a block, lists and tables as wholes. */
#ifndef TENAX_JUDGING_H
#define TENAX_JUDGING_H

#include "page.h"

#define SHORT_CHARS 200
#define LINE_CHARS 60

/* marks.beginning_of's numbers that turn the page to something else even where they are no headings. */
static inline bool is_stranger(uint32_t beginning) { return beginning == 3 || beginning == 4; }

/* wholes.Wholes: of each box the nearest list or table around it, -1 for none. */
typedef struct {
    Signed homes;
} Wholes;

/* Blocks by the list or table they stand in: those of the one in `homes[n]` from `starts[n]` to `starts[n + 1]`. */
typedef struct {
    Numbers homes, starts, blocks;
} Members;

Wholes wholes_of(Page *page);
bool is_whole(Page *page, uint32_t home, const uint32_t *members, uint32_t count);

/* Of some blocks, or of all where `wanted` is NULL, those that stand in a list or a table. */
Members members_of(Page *page, const Wholes *wholes, const bool *wanted);

/* What a block says, in lower case, and what it begins like. */
typedef struct {
    Text lowered;               /* `at` is NULL until it is asked for */
    uint32_t beginning;
} Said;

/* What is worked out once for a page, however often it is judged. */
typedef struct {
    Page *page;
    Wholes wholes;
    Reals shares;               /* of each block, how much of it is links */
    LIST(Said) said;            /* of each block */
} Judging;

Judging judging_of(Page *page);
const Said *said_by(Judging *judging, uint32_t block);

/* The items of one list: those that are asked about, and those that are taken to be like them. */
typedef struct {
    Numbers asked, others;
} Like;

/* doubts.Doubts */
typedef struct {
    Numbers asked, clear;
    LIST(Like) alike;
} Doubts;

Doubts doubts_of(Judging *judging, bool is_article);
Doubts every_block(Judging *judging);

/* The numbers of blocks as the tables want them. Rows are made in the order of the blocks, for a heading tells of those
 * after it; `features_restart` comes before the first. No row is made of a button or a field, which is not read. */
typedef struct Features Features;
Features *features_of(Judging *judging);
void features_restart(Features *features);
bool next_row(Features *features, uint32_t block, double *row);

#endif
