/* Which blocks of a page are asked about: the others are plain, or stand in a long list of the like. */
#include "judging.h"

#include "unicode.h"

#define FEW_LINKS 0.15
#define ALIEN (BIT(consent) | BIT(footer) | BIT(comment) | BIT(unshown))
#define DOUBTFUL                                                                                                      \
    (BIT(related) | BIT(ad) | BIT(side) | BIT(nav) | BIT(share) | BIT(login) | BIT(byline) | BIT(hidden))
#define LINKED 0.8
#define LINKED_AROUND 0.7
#define LINKED_FURTHER 0.6
#define LISTED_CHARS 120
#define NEVER 2.0           /* no share is as large */
#define WHOLE 0.9
#define SAMPLE 12           /* so many items of a list stand for all */

Judging judging_of(Page *page)
{
    const Blocks *blocks = &page->blocks;
    Judging judging = {.page = page, .wholes = wholes_of(page)};
    FILL(&page->arena, judging.shares, blocks->texts.count);
    FILL(&page->arena, judging.said, blocks->texts.count);
    for (uint32_t at = 0; at < judging.shares.count; at++) {
        uint32_t linked = AT(&page->arena, blocks->link_chars, at);
        if (linked > 0)
            judging.shares.at[at] = (double)linked / AT(&page->arena, blocks->chars, at);
    }
    return judging;
}

const Said *said_by(Judging *judging, uint32_t block)
{
    Page *page = judging->page;
    Said *said = &AT(&page->arena, judging->said, block);
    if (said->lowered.at == NULL) {
        said->lowered = lowered(&page->arena, AT(&page->arena, page->blocks.texts, block));
        said->beginning = beginning_of(page, said->lowered);
    }
    return said;
}

Doubts every_block(Judging *judging)
{
    Doubts doubts = {0};
    FILL(&judging->page->arena, doubts.asked, judging->shares.count);
    for (uint32_t at = 0; at < doubts.asked.count; at++)
        doubts.asked.at[at] = at;
    return doubts;
}

/* Whether a box is a list of links: not so the box around the whole page, which may have little but its menu. */
static bool is_list(const Facts *facts)
{
    return facts->longs == 0 && facts->linked > LINKED_FURTHER && facts->share < WHOLE;
}

/* The share of links from which on a short block in this box counts as listed. */
static double linked_enough(Page *page, uint32_t box)
{
    Arena *arena = &page->arena;
    const Outline *outline = &page->outline;
    uint32_t second = AT(arena, page->walk.box_parents, box), third = AT(arena, page->walk.box_parents, second);
    if (is_list(&AT(arena, outline->facts, second)) || is_list(&AT(arena, outline->facts, third)))
        return 0.0;
    return AT(arena, outline->facts, box).linked > LINKED_AROUND ? LINKED : NEVER;
}

/* Strikes out what is a link among links, or a word in a list of them. */
static void pass_listed(Judging *judging, bool *asked)
{
    Page *page = judging->page;
    Arena *arena = &page->arena;
    uint32_t last = UINT32_MAX;
    double enough = NEVER;
    for (uint32_t at = 0; at < judging->shares.count; at++) {
        if (AT(arena, page->blocks.chars, at) >= LISTED_CHARS)
            continue;
        uint32_t around = AT(arena, page->walk.box_parents, AT(arena, page->blocks.boxes, at));
        if (around != last) {
            last = around;
            enough = linked_enough(page, around);
        }
        if (judging->shares.at[at] >= enough)
            asked[at] = false;
    }
}

/* Whether nothing that a block's boxes are called speaks against it, and one of them has much of the prose. */
static bool is_in_good_boxes(Page *page, uint32_t box, double enough)
{
    Arena *arena = &page->arena;
    const Outline *outline = &page->outline;
    uint32_t parent = AT(arena, page->walk.box_parents, box), second = AT(arena, page->walk.box_parents, parent);
    if (AT(arena, outline->all, box) & ALIEN)
        return false;
    if ((AT(arena, outline->own, box) | AT(arena, outline->own, parent) | AT(arena, outline->own, second)) & DOUBTFUL)
        return false;
    return AT(arena, outline->points2, parent) >= enough || AT(arena, outline->points2, second) >= enough
           || AT(arena, outline->points2, box) >= enough;
}

/* Prose in the box with most of it, in parts that are not called anything that speaks against them. After a heading
 * that turns to something else, none is clear any more. */
static Numbers clear_blocks(Judging *judging)
{
    Page *page = judging->page;
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    const Outline *outline = &page->outline;
    Numbers found = {0};
    if (judging->shares.count == 0)
        return found;
    uint32_t first = AT(arena, blocks->first_of_run, AT(arena, page->walk.box_firsts, outline->top));
    uint32_t end = AT(arena, blocks->first_of_run, AT(arena, page->walk.box_ends, outline->top));
    double enough = AT(arena, outline->points2, outline->top2) / 2;
    for (uint32_t at = first; at < end; at++) {
        uint32_t chars = AT(arena, blocks->chars, at), tag = AT(arena, outline->tags, at);
        if (tag == CLASS_P && chars >= LONG_CHARS && AT(arena, judging->shares, at) < FEW_LINKS) {
            if (is_in_good_boxes(page, AT(arena, blocks->boxes, at), enough)
                && (chars >= SHORT_CHARS || said_by(judging, at)->beginning == 0))
                ADD(arena, found, at);
        } else if (chars < SHORT_CHARS && (is_heading_class(tag) || chars < LINE_CHARS)) {
            uint32_t beginning = said_by(judging, at)->beginning;
            if (is_stranger(beginning) || (beginning != 0 && is_heading_class(tag)))
                break;
        }
    }
    return found;
}

static Like like_of(Arena *arena, const uint32_t *members, uint32_t count)
{
    Like like = {0};
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
static void find_alike(Judging *judging, bool *asked, Doubts *doubts)
{
    Page *page = judging->page;
    Arena *arena = &page->arena;
    uint32_t count = judging->shares.count, asked_count = 0;
    bool *listed = take(arena, count);
    for (uint32_t at = 0; at < count; at++) {
        /* Headings change what is thought of all after them, and buttons are never read: neither stands for others. */
        uint32_t tag = AT(arena, page->outline.tags, at);
        listed[at] = asked[at] && !is_heading_class(tag) && tag != CLASS_UNREAD;
        asked_count += asked[at];
    }
    if (asked_count <= SAMPLE)
        return;
    Members members = members_of(page, &judging->wholes, listed);
    for (uint32_t group = 0; group < members.homes.count; group++) {
        const uint32_t *first = members.blocks.at + members.starts.at[group];
        uint32_t size = members.starts.at[group + 1] - members.starts.at[group];
        if (size > SAMPLE && is_whole(page, members.homes.at[group], first, size)) {
            Like like = like_of(arena, first, size);
            for (uint32_t other = 0; other < like.others.count; other++)
                asked[like.others.at[other]] = false;
            ADD(arena, doubts->alike, like);
        }
    }
}

Doubts doubts_of(Judging *judging, bool is_article)
{
    Arena *arena = &judging->page->arena;
    uint32_t count = judging->shares.count;
    bool *asked = take(arena, count);
    memset(asked, true, count);
    Doubts doubts = {0};
    if (is_article) {
        pass_listed(judging, asked);
        doubts.clear = clear_blocks(judging);
        for (uint32_t place = 0; place < doubts.clear.count; place++)
            asked[doubts.clear.at[place]] = false;
    }
    find_alike(judging, asked, &doubts);
    for (uint32_t at = 0; at < count; at++)
        if (asked[at])
            ADD(arena, doubts.asked, at);
    return doubts;
}
