/* Declarations shared by the scoring steps: the plan, the values of a block, lists and tables. */
#ifndef TENAX_SCORING_H
#define TENAX_SCORING_H

#include "page.h"

/* Numbers of class_hints.classify_beginning that change the topic even outside of headings. */
static inline bool is_unrelated_beginning(uint32_t beginning)
{
    switch (beginning) {
        EACH_FEATURES_UNRELATED_BEGINNINGS(CASE)
        return true;
    default:
        return false;
    }
}

/* blocks.ListIndex: for each box the nearest list or table around it, -1 for none. */
typedef struct {
    Signed list_boxes;
} ListIndex;

/* Blocks by their list or table: those of the one in `list_boxes[n]` from `starts[n]` to `starts[n + 1]`. */
typedef struct {
    Numbers list_boxes, starts, blocks;
} ListMembers;

ListIndex index_lists(Page *page);
bool is_scored_together(Page *page, uint32_t list_box, const uint32_t *members, uint32_t count);

/* Those of some blocks, or of all where `included` is NULL, that are in a list or a table. */
ListMembers group_by_list(Page *page, const ListIndex *list_index, const bool *included);

/* The text of a block in lower case, and the category of its beginning. */
typedef struct {
    Text lowered;               /* `at` is NULL until it is needed */
    uint32_t beginning;
} BlockText;

/* Computed once per page, however often it is scored. */
typedef struct {
    Page *page;
    ListIndex list_index;
    Reals shares;               /* of each block, its ratio of links */
    LIST(BlockText) texts;            /* of each block */
} Scoring;

Scoring make_scoring(Page *page);
const BlockText *block_text(Scoring *scoring, uint32_t block);

/* The items of one list: those that are scored, and those that get the same score. */
typedef struct {
    Numbers scored, unsampled;
} SampledList;

/* features.ScoringPlan */
typedef struct {
    Numbers scored, certain;
    LIST(SampledList) samples;
} ScoringPlan;

ScoringPlan plan_scoring(Scoring *scoring, bool is_article);
ScoringPlan plan_scoring_all(Scoring *scoring);

/* The values of blocks as the tables need them. Rows are made in the order of the blocks, because a heading affects
 * those after it; `reset_features` comes before the first. A control gets no row: it is not content. */
typedef struct Features Features;
Features *make_features(Scoring *scoring);
void reset_features(Features *features);
bool next_row(Features *features, uint32_t block, double *row);

#endif
