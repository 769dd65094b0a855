/* Selects the blocks of a page that form its article: `article.select`. */
#include "scoring.h"

#include "decision_trees.h"

#include <float.h>
#include <math.h>

static double probability(double sum) { return 1 / (1 + exp(-sum)); }

/* Weighted by the length of the blocks. */
static double mean_score(Page *page, const uint32_t *members, uint32_t count)
{
    double sum = 0;
    uint64_t chars = 0;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t length = AT(&page->arena, page->blocks.chars, members[index]);
        sum += AT(&page->arena, page->selection.scores, members[index]) * length;
        chars += length;
    }
    return sum / (double)chars;
}

/* Scores blocks by the table. */
static void score_rows(Scoring *scoring, Features *features, const Numbers *scored, bool is_article)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    Rows rows = rows_for(arena, scored->count);
    Numbers blocks = {0};
    double row[ROW_NUMBERS];
    for (uint32_t index = 0; index < scored->count; index++) {
        if (next_row(features, scored->at[index], row)) {
            add_row(arena, &rows, row);
            ADD(arena, blocks, scored->at[index]);
        }
    }
    const double *sums = row_sums(page, &rows, is_article);
    for (uint32_t index = 0; index < blocks.count; index++)
        AT(arena, page->selection.scores, blocks.at[index]) = probability(sums[index]);
}

static void score(Scoring *scoring, Features *features, const ScoringPlan *plan, bool is_article)
{
    Page *page = scoring->page;
    Reals *scores = &page->selection.scores;
    memset(scores->at, 0, scores->count * sizeof *scores->at);
    reset_features(features);
    score_rows(scoring, features, &plan->scored, is_article);
    for (uint32_t index = 0; index < plan->certain.count; index++)
        AT(&page->arena, *scores, plan->certain.at[index]) = SELECT_CERTAIN_SCORE;
    for (uint32_t list = 0; list < plan->samples.count; list++) {
        const SampledList *sample = &plan->samples.at[list];
        double mean = mean_score(page, sample->scored.at, sample->scored.count);
        for (uint32_t index = 0; index < sample->unsampled.count; index++)
            AT(&page->arena, *scores, sample->unsampled.at[index]) = mean;
    }
}

/* The boxes of reader comments: those with such names, except those that also contain the title. NULL where there
 * are none. */
static bool *find_comment_boxes(Page *page)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    const Numbers *parents = &page->walk.box_parents;
    if (!(layout->all_hints & HINT_BIT(comment)))
        return NULL;
    bool *around_title = arena_calloc(arena, parents->count, sizeof *around_title);
    bool *found = arena_calloc(arena, parents->count, sizeof *found);
    uint32_t box = layout->title_block >= 0 ? AT(arena, page->blocks.boxes, (uint32_t)layout->title_block) : 0;
    for (; !around_title[check_index(arena, box, parents->count)]; box = parents->at[box])
        around_title[box] = true;
    for (uint32_t index = 0; index < layout->full.count; index++) {
        box = check_index(arena, layout->full.at[index], parents->count);
        uint32_t parent = check_index(arena, parents->at[box], parents->count);
        if (!around_title[box] && ((AT(arena, layout->own, box) & HINT_BIT(comment)) || found[parent]))
            found[box] = true;
    }
    return found;
}

/* Drops the few words beside each post of a thread that say who wrote it, and since when they are a member. */
static void drop_profiles(Page *page)
{
    Arena *arena = &page->arena;
    for (uint32_t at = 0; at < page->selection.scores.count; at++)
        if (AT(arena, page->blocks.chars, at) < SELECT_MAX_PROFILE_CHARS
            && AT(arena, page->layout.all, AT(arena, page->blocks.boxes, at)) & HINT_BIT(byline))
            page->selection.scores.at[at] = 0.0;
}

/* Drops some blocks, if the likely content outside is at least `share` of them: some pages show their text only
 * after scripts have run, and some name it a comment. */
static void drop_blocks(Page *page, const bool *dropped, double share)
{
    Reals *scores = &page->selection.scores;
    uint64_t inside = 0, outside = 0;
    for (uint32_t at = 0; at < scores->count; at++) {
        if (scores->at[at] > SELECT_LIKELY_SCORE)
            *(dropped[at] ? &inside : &outside) += AT(&page->arena, page->blocks.chars, at);
    }
    if (!((double)outside > share * (double)inside))
        return;
    for (uint32_t at = 0; at < scores->count; at++)
        if (dropped[at])
            scores->at[at] = 0.0;
}

static void drop_unshown(Page *page)
{
    Arena *arena = &page->arena;
    uint32_t count = page->selection.scores.count;
    if (!(page->layout.all_hints & HINT_BIT(unshown)))
        return;
    bool *unshown = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++)
        unshown[at] = AT(arena, page->layout.all, AT(arena, page->blocks.boxes, at)) & HINT_BIT(unshown) ? true : false;
    drop_blocks(page, unshown, SELECT_MIN_SHOWN_SHARE);
}

static void drop_comments(Page *page, const bool *comments)
{
    Arena *arena = &page->arena;
    uint32_t count = page->selection.scores.count;
    if (comments == NULL)
        return;
    bool *is_comment = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++)
        is_comment[at] = comments[check_index(arena, AT(arena, page->blocks.boxes, at), page->walk.box_parents.count)];
    drop_blocks(page, is_comment, SELECT_MIN_UNCOMMENTED_SHARE);
}

/* Gives all items of a list, and all cells of a table, their mean score: it is kept whole or not at all. Blocks
 * dropped for another reason stay dropped. */
static void average_list_scores(Scoring *scoring, const ListMembers *members)
{
    Page *page = scoring->page;
    Reals *scores = &page->selection.scores;
    for (uint32_t group = 0; group < members->list_boxes.count; group++) {
        const uint32_t *first = members->blocks.at + members->starts.at[group];
        uint32_t size = members->starts.at[group + 1] - members->starts.at[group];
        bool is_scored = false;
        for (uint32_t index = 0; index < size && !is_scored; index++)
            is_scored = AT(&page->arena, *scores, first[index]) != 0;
        if (!is_scored || size < 2 || !is_scored_together(page, members->list_boxes.at[group], first, size))
            continue;
        double mean = mean_score(page, first, size);
        for (uint32_t index = 0; index < size; index++)
            if (scores->at[first[index]] != 0)
                scores->at[first[index]] = mean;
    }
}

typedef struct {
    double score;
    uint32_t words;
} Scored;

static inline bool is_before(Scored one, Scored other)
{
    return one.score > other.score || (one.score == other.score && one.words > other.words);
}

/* Merges two sorted parts, from `from` to `middle` and from there to `end`. */
static void merge(const Scored *rows, Scored *into, uint32_t from, uint32_t middle, uint32_t end)
{
    uint32_t left = from, right = middle;
    for (uint32_t at = from; at < end; at++) {
        bool is_left = right >= end || (left < middle && !is_before(rows[right], rows[left]));
        into[at] = is_left ? rows[left++] : rows[right++];
    }
}

/* The most probable first. */
static Scored *sort_by_score(Arena *arena, Scored *rows, uint32_t count)
{
    Scored *other = arena_alloc(arena, count * sizeof *other);
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t from = 0; from < count; from += 2 * width) {
            uint32_t middle = from + width < count ? from + width : count;
            merge(rows, other, from, middle, middle + width < count ? middle + width : count);
        }
        Scored *swapped = rows;
        rows = other;
        other = swapped;
    }
    return rows;
}

/* The score from which blocks are kept: the one with the best expected F1. */
static double score_threshold(Page *page)
{
    Arena *arena = &page->arena;
    const Reals *scores = &page->selection.scores;
    Scored *rows = arena_alloc(arena, scores->count * sizeof *rows);
    uint32_t count = 0;
    for (uint32_t at = 0; at < scores->count; at++)
        if (scores->at[at] > 0)
            rows[count++] = (Scored){scores->at[at], AT(arena, page->blocks.words, at)};
    rows = sort_by_score(arena, rows, count);
    double expected = 0, kept = 0, right = 0, best = 0, threshold = 1;
    for (uint32_t at = 0; at < count; at++)
        expected += rows[at].score * rows[at].words;
    for (uint32_t at = 0; at < count; at++) {
        kept += rows[at].words;
        right += rows[at].score * rows[at].words;
        double value = right / (kept + SELECT_STRICTNESS * expected);
        if (value >= best) {
            best = value;
            threshold = rows[at].score;
        }
    }
    return threshold;
}

/* Keeps the blocks with at least this score; whether there are any. */
static bool keep_from(Page *page, double threshold)
{
    bool is_any = false;
    for (uint32_t at = 0; at < page->selection.scores.count; at++) {
        bool is_kept = page->selection.scores.at[at] >= threshold;
        page->selection.kept.at[at] = is_kept;
        is_any |= is_kept;
    }
    return is_any;
}

/* Whether anything is kept. */
static bool score_and_select(Scoring *scoring, Features *features, const ScoringPlan *plan, const bool *comments)
{
    Page *page = scoring->page;
    score(scoring, features, plan, is_article_kind(page));
    if (is_forum_kind(page))
        drop_profiles(page);
    drop_unshown(page);
    drop_comments(page, comments);
    ListMembers members = group_by_list(page, &scoring->list_index, NULL);
    average_list_scores(scoring, &members);
    bool is_any = keep_from(page, score_threshold(page));
    if (page->selection.scores.count <= SELECT_TINY_PAGE_BLOCKS && !is_any)
        is_any = keep_from(page, DBL_TRUE_MIN);
    return is_any;
}

void select_article(Page *page)
{
    uint32_t count = page->blocks.texts.count;
    page->selection = (Selection){0};
    if (count == 0)
        return;
    FILL(&page->arena, page->selection.kept, count);
    FILL(&page->arena, page->selection.scores, count);
    bool is_article = is_article_kind(page);
    const bool *comments = is_article ? find_comment_boxes(page) : NULL;
    Scoring scoring = make_scoring(page);
    Features *features = make_features(&scoring);
    ScoringPlan plan = plan_scoring(&scoring, is_article);
    if (!score_and_select(&scoring, features, &plan, comments) && is_article) {
        plan = plan_scoring_all(&scoring);
        score_and_select(&scoring, features, &plan, comments);
    }
}
