/* What the steps of scoring share: which blocks are asked about, the numbers of a block, lists and tables as list_index. */
#ifndef TENAX_JUDGING_H
#define TENAX_JUDGING_H

#include "page.h"

#define SHORT_CHARS 200
#define LINE_CHARS 60

/* marks.classify_beginning's numbers that turn the page to something else even where they are no headings. */
static inline bool is_unrelated_beginning(uint32_t beginning) { return beginning == 3 || beginning == 4; }

/* list_index.ListIndex: of each box the nearest list or table around it, -1 for none. */
typedef struct {
    Signed homes;
} ListIndex;

/* Blocks by the list or table they stand in: those of the one in `homes[n]` from `starts[n]` to `starts[n + 1]`. */
typedef struct {
    Numbers homes, starts, blocks;
} ListMembers;

ListIndex index_lists(Page *page);
bool is_scored_together(Page *page, uint32_t home, const uint32_t *members, uint32_t count);

/* Of some blocks, or of all where `wanted` is NULL, those that stand in a list or a table. */
ListMembers group_by_list(Page *page, const ListIndex *list_index, const bool *wanted);

/* What a block says, in lower case, and what it begins like. */
typedef struct {
    Text lowered;               /* `at` is NULL until it is asked for */
    uint32_t beginning;
} Said;

/* What is worked out once for a page, however often it is judged. */
typedef struct {
    Page *page;
    ListIndex list_index;
    Reals shares;               /* of each block, how much of it is links */
    LIST(Said) said;            /* of each block */
} Scoring;

Scoring make_scoring(Page *page);
const Said *said_by(Scoring *scoring, uint32_t block);

/* The items of one list: those that are asked about, and those that are taken to be like them. */
typedef struct {
    Numbers asked, others;
} SampledList;

/* plan.ScoringPlan */
typedef struct {
    Numbers asked, clear;
    LIST(SampledList) alike;
} ScoringPlan;

ScoringPlan plan_scoring(Scoring *scoring, bool is_article);
ScoringPlan plan_scoring_all(Scoring *scoring);

/* The numbers of blocks as the tables want them. Rows are made in the order of the blocks, for a heading tells of those
 * after it; `reset_features` comes before the first. No row is made of a button or a field, which is not read. */
typedef struct Features Features;
Features *make_features(Scoring *scoring);
void reset_features(Features *features);
bool next_row(Features *features, uint32_t block, double *row);

#endif
