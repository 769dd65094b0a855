/* Which blocks of a page are its clean part: as many of the likeliest as promise the best whole. */
#include "scoring.h"

#include "decision_trees.h"

#include <float.h>
#include <math.h>

#define STRICTNESS 0.8
#define PROFILE_CHARS 40
#define SEEN_SHARE 0.5
#define WRITTEN_SHARE 0.25
#define LIKELY 0.4
#define TINY_BLOCKS 3
#define CLEAR 0.97          /* what the table says on average of a block that it is not asked about */

static double score_of(double sum) { return 1 / (1 + exp(-sum)); }

/* Of some blocks, by their length. */
static double mean_of(Page *page, const uint32_t *members, uint32_t count)
{
    double sum = 0;
    uint64_t chars = 0;
    for (uint32_t place = 0; place < count; place++) {
        uint32_t length = AT(&page->arena, page->blocks.chars, members[place]);
        sum += AT(&page->arena, page->selection.scores, members[place]) * length;
        chars += length;
    }
    return sum / (double)chars;
}

/* Asks the table about blocks. */
static void ask(Scoring *scoring, Features *features, const Numbers *asked, bool is_article)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    Rows rows = rows_for(arena, asked->count);
    Numbers blocks = {0};
    double row[ROW_NUMBERS];
    for (uint32_t place = 0; place < asked->count; place++) {
        if (next_row(features, asked->at[place], row)) {
            add_row(arena, &rows, row);
            ADD(arena, blocks, asked->at[place]);
        }
    }
    const double *sums = row_sums(page, &rows, is_article);
    for (uint32_t place = 0; place < blocks.count; place++)
        AT(arena, page->selection.scores, blocks.at[place]) = score_of(sums[place]);
}

static void score(Scoring *scoring, Features *features, const ScoringPlan *plan, bool is_article)
{
    Page *page = scoring->page;
    Reals *scores = &page->selection.scores;
    memset(scores->at, 0, scores->count * sizeof *scores->at);
    reset_features(features);
    ask(scoring, features, &plan->asked, is_article);
    for (uint32_t place = 0; place < plan->clear.count; place++)
        AT(&page->arena, *scores, plan->clear.at[place]) = CLEAR;
    for (uint32_t list = 0; list < plan->alike.count; list++) {
        const SampledList *like = &plan->alike.at[list];
        double mean = mean_of(page, like->asked.at, like->asked.count);
        for (uint32_t place = 0; place < like->others.count; place++)
            AT(&page->arena, *scores, like->others.at[place]) = mean;
    }
}

/* The boxes of what readers wrote below an article: those called so, but for what is around its title too. NULL where
 * there are none. */
static bool *comments_of(Page *page)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    const Numbers *parents = &page->walk.box_parents;
    if (!(layout->marks & HINT_BIT(comment)))
        return NULL;
    bool *around_title = arena_calloc(arena, parents->count, sizeof *around_title);
    bool *found = arena_calloc(arena, parents->count, sizeof *found);
    uint32_t box = layout->title_block >= 0 ? AT(arena, page->blocks.boxes, (uint32_t)layout->title_block) : 0;
    for (; !around_title[check_index(arena, box, parents->count)]; box = parents->at[box])
        around_title[box] = true;
    for (uint32_t place = 0; place < layout->full.count; place++) {
        box = check_index(arena, layout->full.at[place], parents->count);
        uint32_t parent = check_index(arena, parents->at[box], parents->count);
        if (!around_title[box] && ((AT(arena, layout->own, box) & HINT_BIT(comment)) || found[parent]))
            found[box] = true;
    }
    return found;
}

/* Drops the few words beside each post of a thread that tell who wrote it, and since when they do. */
static void drop_profiles(Page *page)
{
    Arena *arena = &page->arena;
    for (uint32_t at = 0; at < page->selection.scores.count; at++)
        if (AT(arena, page->blocks.chars, at) < PROFILE_CHARS
            && AT(arena, page->layout.all, AT(arena, page->blocks.boxes, at)) & HINT_BIT(byline))
            page->selection.scores.at[at] = 0.0;
}

/* Drops some blocks, if what is likely elsewhere is at least such a share of them: some pages show their text only when
 * scripts have run, and some call it a comment. */
static void drop(Page *page, const bool *dropped, double share)
{
    Reals *scores = &page->selection.scores;
    uint64_t inside = 0, outside = 0;
    for (uint32_t at = 0; at < scores->count; at++) {
        if (scores->at[at] > LIKELY)
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
    if (!(page->layout.marks & HINT_BIT(unshown)))
        return;
    bool *unshown = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++)
        unshown[at] = AT(arena, page->layout.all, AT(arena, page->blocks.boxes, at)) & HINT_BIT(unshown) ? true : false;
    drop(page, unshown, SEEN_SHARE);
}

static void drop_comments(Page *page, const bool *comments)
{
    Arena *arena = &page->arena;
    uint32_t count = page->selection.scores.count;
    if (comments == NULL)
        return;
    bool *written = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++)
        written[at] = comments[check_index(arena, AT(arena, page->blocks.boxes, at), page->walk.box_parents.count)];
    drop(page, written, WRITTEN_SHARE);
}

/* Gives all items of a list, and all cells of a table, the mean of their scores: it is kept whole or not at all. What
 * was dropped for another reason stays so. */
static void average_list_scores(Scoring *scoring, const ListMembers *members)
{
    Page *page = scoring->page;
    Reals *scores = &page->selection.scores;
    for (uint32_t group = 0; group < members->homes.count; group++) {
        const uint32_t *first = members->blocks.at + members->starts.at[group];
        uint32_t size = members->starts.at[group + 1] - members->starts.at[group];
        bool is_scored = false;
        for (uint32_t place = 0; place < size && !is_scored; place++)
            is_scored = AT(&page->arena, *scores, first[place]) != 0;
        if (!is_scored || size < 2 || !is_scored_together(page, members->homes.at[group], first, size))
            continue;
        double mean = mean_of(page, first, size);
        for (uint32_t place = 0; place < size; place++)
            if (scores->at[first[place]] != 0)
                scores->at[first[place]] = mean;
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

/* The likeliest first. */
static Scored *sorted(Arena *arena, Scored *rows, uint32_t count)
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

/* The score from which on blocks are kept: that with the best mean of precision and recall to be expected. */
static double least_score(Page *page)
{
    Arena *arena = &page->arena;
    const Reals *scores = &page->selection.scores;
    Scored *rows = arena_alloc(arena, scores->count * sizeof *rows);
    uint32_t count = 0;
    for (uint32_t at = 0; at < scores->count; at++)
        if (scores->at[at] > 0)
            rows[count++] = (Scored){scores->at[at], AT(arena, page->blocks.words, at)};
    rows = sorted(arena, rows, count);
    double expected = 0, kept = 0, right = 0, best = 0, least = 1;
    for (uint32_t at = 0; at < count; at++)
        expected += rows[at].score * rows[at].words;
    for (uint32_t at = 0; at < count; at++) {
        kept += rows[at].words;
        right += rows[at].score * rows[at].words;
        double value = right / (kept + STRICTNESS * expected);
        if (value >= best) {
            best = value;
            least = rows[at].score;
        }
    }
    return least;
}

/* Keeps what has at least such a score; whether that is anything. */
static bool keep(Page *page, double least)
{
    bool is_any = false;
    for (uint32_t at = 0; at < page->selection.scores.count; at++) {
        bool is_kept = page->selection.scores.at[at] >= least;
        page->selection.kept.at[at] = is_kept;
        is_any |= is_kept;
    }
    return is_any;
}

/* Whether anything is kept. */
static bool judge(Scoring *scoring, Features *features, const ScoringPlan *plan, const bool *comments)
{
    Page *page = scoring->page;
    score(scoring, features, plan, is_article_kind(page));
    if (is_forum_kind(page))
        drop_profiles(page);
    drop_unshown(page);
    drop_comments(page, comments);
    ListMembers members = group_by_list(page, &scoring->list_index, NULL);
    average_list_scores(scoring, &members);
    bool is_any = keep(page, least_score(page));
    if (page->selection.scores.count <= TINY_BLOCKS && !is_any)
        is_any = keep(page, DBL_TRUE_MIN);
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
    const bool *comments = is_article ? comments_of(page) : NULL;
    Scoring scoring = make_scoring(page);
    Features *features = make_features(&scoring);
    ScoringPlan plan = plan_scoring(&scoring, is_article);
    if (!judge(&scoring, features, &plan, comments) && is_article) {
        plan = plan_scoring_all(&scoring);
        judge(&scoring, features, &plan, comments);
    }
}
