/* Which blocks of a page are asked about: the others are plain, or stand in a long list of the like. */
#include "scoring.h"

#include "unicode.h"

#define FEW_LINKS 0.15
#define ALIEN (HINT_BIT(consent) | HINT_BIT(footer) | HINT_BIT(comment) | HINT_BIT(unshown))
#define DOUBTFUL                                                                                                      \
    (HINT_BIT(related) | HINT_BIT(ad) | HINT_BIT(side) | HINT_BIT(nav) | HINT_BIT(share) | HINT_BIT(login) | HINT_BIT(byline) | HINT_BIT(hidden))
#define LINKED 0.8
#define LINKED_AROUND 0.7
#define LINKED_FURTHER 0.6
#define LISTED_CHARS 120
#define NEVER 2.0           /* no share is as large */
#define WHOLE 0.9
#define SAMPLE 12           /* so many items of a list stand for all */

Scoring make_scoring(Page *page)
{
    const Blocks *blocks = &page->blocks;
    Scoring scoring = {.page = page, .list_index = index_lists(page)};
    FILL(&page->arena, scoring.shares, blocks->texts.count);
    FILL(&page->arena, scoring.said, blocks->texts.count);
    for (uint32_t at = 0; at < scoring.shares.count; at++) {
        uint32_t linked = AT(&page->arena, blocks->link_chars, at);
        if (linked > 0)
            scoring.shares.at[at] = (double)linked / AT(&page->arena, blocks->chars, at);
    }
    return scoring;
}

const Said *said_by(Scoring *scoring, uint32_t block)
{
    Page *page = scoring->page;
    Said *said = &AT(&page->arena, scoring->said, block);
    if (said->lowered.at == NULL) {
        said->lowered = lowered(&page->arena, AT(&page->arena, page->blocks.texts, block));
        said->beginning = classify_beginning(page, said->lowered);
    }
    return said;
}

ScoringPlan plan_scoring_all(Scoring *scoring)
{
    ScoringPlan plan = {0};
    FILL(&scoring->page->arena, plan.asked, scoring->shares.count);
    for (uint32_t at = 0; at < plan.asked.count; at++)
        plan.asked.at[at] = at;
    return plan;
}

/* Whether a box is a list of links: not so the box around the whole page, which may have little but its menu. */
static bool is_link_list(const BoxStats *facts)
{
    return facts->longs == 0 && facts->linked > LINKED_FURTHER && facts->share < WHOLE;
}

/* The share of links from which on a short block in this box counts as listed. */
static double listed_link_share(Page *page, uint32_t box)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    uint32_t second = AT(arena, page->walk.box_parents, box), third = AT(arena, page->walk.box_parents, second);
    if (is_link_list(&AT(arena, layout->facts, second)) || is_link_list(&AT(arena, layout->facts, third)))
        return 0.0;
    return AT(arena, layout->facts, box).linked > LINKED_AROUND ? LINKED : NEVER;
}

/* Strikes out what is a link among links, or a word in a list of them. */
static void drop_listed(Scoring *scoring, bool *asked)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    uint32_t last = UINT32_MAX;
    double enough = NEVER;
    for (uint32_t at = 0; at < scoring->shares.count; at++) {
        if (AT(arena, page->blocks.chars, at) >= LISTED_CHARS)
            continue;
        uint32_t around = AT(arena, page->walk.box_parents, AT(arena, page->blocks.boxes, at));
        if (around != last) {
            last = around;
            enough = listed_link_share(page, around);
        }
        if (scoring->shares.at[at] >= enough)
            asked[at] = false;
    }
}

/* Whether nothing that a block's boxes are called speaks against it, and one of them has much of the prose. */
static bool is_in_good_boxes(Page *page, uint32_t box, double enough)
{
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    uint32_t parent = AT(arena, page->walk.box_parents, box), second = AT(arena, page->walk.box_parents, parent);
    if (AT(arena, layout->all, box) & ALIEN)
        return false;
    if ((AT(arena, layout->own, box) | AT(arena, layout->own, parent) | AT(arena, layout->own, second)) & DOUBTFUL)
        return false;
    return AT(arena, layout->rule_points, parent) >= enough || AT(arena, layout->rule_points, second) >= enough
           || AT(arena, layout->rule_points, box) >= enough;
}

/* Prose in the box with most of it, in parts that are not called anything that speaks against them. After a heading
 * that turns to something else, none is clear any more. */
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
    double enough = AT(arena, layout->rule_points, layout->rule_top) / 2;
    for (uint32_t at = first; at < end; at++) {
        uint32_t chars = AT(arena, blocks->chars, at), tag = AT(arena, layout->tags, at);
        if (tag == CLASS_P && chars >= LONG_CHARS && AT(arena, scoring->shares, at) < FEW_LINKS) {
            if (is_in_good_boxes(page, AT(arena, blocks->boxes, at), enough)
                && (chars >= SHORT_CHARS || said_by(scoring, at)->beginning == 0))
                ADD(arena, found, at);
        } else if (chars < SHORT_CHARS && (is_heading_class(tag) || chars < LINE_CHARS)) {
            uint32_t beginning = said_by(scoring, at)->beginning;
            if (is_unrelated_beginning(beginning) || (beginning != 0 && is_heading_class(tag)))
                break;
        }
    }
    return found;
}

static SampledList sample_list(Arena *arena, const uint32_t *members, uint32_t count)
{
    SampledList like = {0};
    for (uint32_t place = 0, next = 0; place < count; place++) {
        if (like.asked.count < SAMPLE && place == next) {
            ADD(arena, like.asked, members[place]);
            next = (uint32_t)((uint64_t)like.asked.count * count / SAMPLE);
        } else {
            ADD(arena, like.others, members[place]);
        }
    }
    return like;
}

/* Finds long lists among the asked blocks, and strikes out those that others stand for. */
static void sample_lists(Scoring *scoring, bool *asked, ScoringPlan *plan)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    uint32_t count = scoring->shares.count, asked_count = 0;
    bool *listed = arena_alloc(arena, count);
    for (uint32_t at = 0; at < count; at++) {
        /* Headings change what is thought of all after them, and buttons are never read: neither stands for others. */
        uint32_t tag = AT(arena, page->layout.tags, at);
        listed[at] = asked[at] && !is_heading_class(tag) && tag != CLASS_UNREAD;
        asked_count += asked[at];
    }
    if (asked_count <= SAMPLE)
        return;
    ListMembers members = group_by_list(page, &scoring->list_index, listed);
    for (uint32_t group = 0; group < members.homes.count; group++) {
        const uint32_t *first = members.blocks.at + members.starts.at[group];
        uint32_t size = members.starts.at[group + 1] - members.starts.at[group];
        if (size > SAMPLE && is_scored_together(page, members.homes.at[group], first, size)) {
            SampledList like = sample_list(arena, first, size);
            for (uint32_t other = 0; other < like.others.count; other++)
                asked[like.others.at[other]] = false;
            ADD(arena, plan->alike, like);
        }
    }
}

ScoringPlan plan_scoring(Scoring *scoring, bool is_article)
{
    Arena *arena = &scoring->page->arena;
    uint32_t count = scoring->shares.count;
    bool *asked = arena_alloc(arena, count);
    memset(asked, true, count);
    ScoringPlan plan = {0};
    if (is_article) {
        drop_listed(scoring, asked);
        plan.clear = find_certain_blocks(scoring);
        for (uint32_t place = 0; place < plan.clear.count; place++)
            asked[plan.clear.at[place]] = false;
    }
    sample_lists(scoring, asked, &plan);
    for (uint32_t at = 0; at < count; at++)
        if (asked[at])
            ADD(arena, plan.asked, at);
    return plan;
}
