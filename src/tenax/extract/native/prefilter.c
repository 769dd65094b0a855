/* Selects the blocks that need scoring: `article.features`. */
#include "scoring.h"

#include "unicode.h"

Scoring make_scoring(Page *page)
{
    const Blocks *blocks = &page->blocks;
    Scoring scoring = {.page = page, .list_index = index_lists(page)};
    FILL(&page->arena, scoring.shares, blocks->texts.count);
    FILL(&page->arena, scoring.texts, blocks->texts.count);
    for (uint32_t at = 0; at < scoring.shares.count; at++) {
        uint32_t linked = AT(&page->arena, blocks->link_chars, at);
        if (linked > 0)
            scoring.shares.at[at] = (double)linked / AT(&page->arena, blocks->chars, at);
    }
    return scoring;
}

const BlockText *block_text(Scoring *scoring, uint32_t block)
{
    Page *page = scoring->page;
    BlockText *text = &AT(&page->arena, scoring->texts, block);
    if (text->lowered.at == NULL) {
        text->lowered = lowered(&page->arena, AT(&page->arena, page->blocks.texts, block));
        text->beginning = classify_beginning(page, text->lowered);
    }
    return text;
}

ScoringPlan plan_scoring_all(Scoring *scoring)
{
    ScoringPlan plan = {0};
    FILL(&scoring->page->arena, plan.scored, scoring->shares.count);
    for (uint32_t at = 0; at < plan.scored.count; at++)
        plan.scored.at[at] = at;
    return plan;
}

/* Whether a box is a list of links. Never the box around the whole page, which may contain little but its menu. */
static bool is_link_list(const BoxStats *facts)
{
    return facts->longs == 0 && facts->linked > FEATURES_MIN_LIST_LINK_SHARE &&
           facts->share < FEATURES_WHOLE_PAGE_SHARE;
}

/* The ratio of links from which a short block in this box counts as listed. */
static double listed_link_share(Page *page, uint32_t box)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    uint32_t second = AT(arena, page->walk.box_parents, box), third = AT(arena, page->walk.box_parents, second);
    if (is_link_list(&AT(arena, layout->facts, second)) || is_link_list(&AT(arena, layout->facts, third)))
        return 0.0;
    bool is_linked = AT(arena, layout->facts, box).linked > FEATURES_MIN_PARENT_LINK_SHARE;
    return is_linked ? FEATURES_MIN_LINK_SHARE : FEATURES_UNREACHABLE_SHARE;
}

/* Exclude blocks that are a link among links, or a word in a list of them. */
static void drop_listed(Scoring *scoring, bool *scored)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    uint32_t last = UINT32_MAX;
    double min_share = FEATURES_UNREACHABLE_SHARE;
    for (uint32_t at = 0; at < scoring->shares.count; at++) {
        if (AT(arena, page->blocks.chars, at) >= FEATURES_MAX_LISTED_CHARS)
            continue;
        uint32_t around = AT(arena, page->walk.box_parents, AT(arena, page->blocks.boxes, at));
        if (around != last) {
            last = around;
            min_share = listed_link_share(page, around);
        }
        if (scoring->shares.at[at] >= min_share)
            scored[at] = false;
    }
}

/* Whether no hint on a block's boxes counts against it, and one of them has much of the prose. */
static bool is_in_good_boxes(Page *page, uint32_t box, double min_share)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    uint32_t parent = AT(arena, page->walk.box_parents, box), second = AT(arena, page->walk.box_parents, parent);
    if (AT(arena, layout->all, box) & FEATURES_EXCLUDING_HINTS)
        return false;
    if ((AT(arena, layout->own, box) | AT(arena, layout->own, parent) | AT(arena, layout->own, second)) &
        FEATURES_DOUBTFUL_HINTS)
        return false;
    return AT(arena, layout->rule_points, parent) >= min_share || AT(arena, layout->rule_points, second) >= min_share
           || AT(arena, layout->rule_points, box) >= min_share;
}

/* Prose in the box with most of it, in parts without a hint against them. After a heading that changes the topic, no
 * block is certain. */
static Numbers find_certain_blocks(Scoring *scoring)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    const PageLayout *layout = &page->layout;
    Numbers found = {0};
    if (scoring->shares.count == 0)
        return found;
    uint32_t first = AT(arena, blocks->first_of_run, AT(arena, page->walk.box_starts, layout->top));
    uint32_t end = AT(arena, blocks->first_of_run, AT(arena, page->walk.box_ends, layout->top));
    double min_share = AT(arena, layout->rule_points, layout->rule_top) / 2;
    for (uint32_t at = first; at < end; at++) {
        uint32_t chars = AT(arena, blocks->chars, at), tag = AT(arena, layout->tags, at);
        bool is_prose = AT(arena, scoring->shares, at) < FEATURES_MAX_PROSE_LINK_SHARE;
        if (tag == LAYOUT_P && chars >= BLOCKS_LONG_BLOCK_CHARS && is_prose) {
            if (is_in_good_boxes(page, AT(arena, blocks->boxes, at), min_share)
                && (chars >= FEATURES_SHORT_CHARS || block_text(scoring, at)->beginning == 0))
                ADD(arena, found, at);
        } else if (chars < FEATURES_SHORT_CHARS && (is_heading_class(tag) || chars < FEATURES_SHORT_LINE_CHARS)) {
            uint32_t beginning = block_text(scoring, at)->beginning;
            if (is_unrelated_beginning(beginning) || (beginning != 0 && is_heading_class(tag)))
                break;
        }
    }
    return found;
}

static SampledList sample_list(Arena *arena, const uint32_t *members, uint32_t count)
{
    SampledList sample = {0};
    for (uint32_t index = 0, next = 0; index < count; index++) {
        if (sample.scored.count < FEATURES_LIST_SAMPLE_SIZE && index == next) {
            ADD(arena, sample.scored, members[index]);
            next = (uint32_t)((uint64_t)sample.scored.count * count / FEATURES_LIST_SAMPLE_SIZE);
        } else {
            ADD(arena, sample.unsampled, members[index]);
        }
    }
    return sample;
}

/* Find long lists among the blocks to score, and exclude the items that others represent. */
static void sample_lists(Scoring *scoring, bool *scored, ScoringPlan *plan)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    uint32_t count = scoring->shares.count, asked_count = 0;
    bool *listed = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++) {
        /* Headings affect all blocks after them, and controls are never content: neither represents others. */
        uint32_t tag = AT(arena, page->layout.tags, at);
        listed[at] = scored[at] && !is_heading_class(tag) && tag != LAYOUT_CONTROL_TAG;
        asked_count += scored[at];
    }
    if (asked_count <= FEATURES_LIST_SAMPLE_SIZE)
        return;
    ListMembers members = group_by_list(page, &scoring->list_index, listed);
    for (uint32_t group = 0; group < members.list_boxes.count; group++) {
        const uint32_t *first = members.blocks.at + members.starts.at[group];
        uint32_t size = members.starts.at[group + 1] - members.starts.at[group];
        if (size > FEATURES_LIST_SAMPLE_SIZE && is_scored_together(page, members.list_boxes.at[group], first, size)) {
            SampledList sample = sample_list(arena, first, size);
            for (uint32_t other = 0; other < sample.unsampled.count; other++)
                scored[sample.unsampled.at[other]] = false;
            ADD(arena, plan->samples, sample);
        }
    }
}

ScoringPlan plan_scoring(Scoring *scoring, bool is_article)
{
    Arena *arena = &scoring->page->arena;
    uint32_t count = scoring->shares.count;
    bool *scored = arena_alloc(arena, count);
    memset(scored, true, count);
    ScoringPlan plan = {0};
    if (is_article) {
        drop_listed(scoring, scored);
        plan.certain = find_certain_blocks(scoring);
        for (uint32_t index = 0; index < plan.certain.count; index++)
            scored[plan.certain.at[index]] = false;
    }
    sample_lists(scoring, scored, &plan);
    for (uint32_t at = 0; at < count; at++)
        if (scored[at])
            ADD(arena, plan.scored, at);
    return plan;
}
