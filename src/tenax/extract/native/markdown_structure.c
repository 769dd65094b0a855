/* Where a block of Markdown stands: which quotes, lists, headings, tables or code the boxes around it make:
 * `parse.markdown_places`. */
#include "markdown.h"

#define MAX_HEADING_CHARS 400
#define MAX_HEADING_BLOCKS 4
#define MOST_START_DIGITS 8

static const BlockContext OUTSIDE = {.owner = NOWHERE};

BlockContexts make_contexts(const Kept *kept)
{
    BlockContexts places = {.kept = kept};
    Arena *arena = &kept->page->arena;
    uint32_t boxes = kept->page->walk.box_tags.count;
    FILL(arena, places.found, boxes);
    FILL(arena, places.next_numbers, boxes);
    AT(arena, places.found, 0) = &OUTSIDE;
    return places;
}

static uint32_t level_of(uint32_t tag) { return tag >= TAG_h1 && tag <= TAG_h6 ? tag - TAG_h1 + 1 : 0; }

static bool is_pre(uint32_t tag)
{
    return tag == TAG_pre || tag == TAG_listing || tag == TAG_xmp || tag == TAG_plaintext;
}

/* Whether a box is no longer than headings are: else it is an article in a heading that was never closed. */
static bool is_short(Page *page, uint32_t box)
{
    Span span = span_of(page, box);
    const Numbers *chars = &page->blocks.chars_before;
    return span.end - span.first <= MAX_HEADING_BLOCKS &&
           AT(&page->arena, *chars, span.end) - AT(&page->arena, *chars, span.first) <= MAX_HEADING_CHARS;
}

static uint32_t start_of(const Node *list)
{
    Text start = get_attribute(list, "start");
    uint32_t number = 0;
    if (start.size == 0 || start.size > MOST_START_DIGITS)
        return 1;
    for (uint32_t at = 0; at < start.size; at++) {
        if (start.at[at] < '0' || start.at[at] > '9')
            return 1;
        number = number * 10 + (start.at[at] - '0');
    }
    return number;
}

static Chain item_within(BlockContexts *places, Chain chain, uint32_t box)
{
    Page *page = places->kept->page;
    if (count_levels(chain) + 2 > MAX_LEVELS)
        return chain;
    uint32_t parent = AT(&page->arena, page->walk.box_parents, box);
    Container item = {.is_item = true, .list = parent};
    if (AT(&page->arena, page->walk.box_tags, parent) == TAG_ol) {
        uint64_t *next = &AT(&page->arena, places->next_numbers, parent);
        if (*next == 0)
            *next = (uint64_t)start_of(AT(&page->arena, page->walk.box_nodes, parent)) + 1;
        item.is_numbered = true;
        item.number = (uint32_t)(*next)++ - 1;
    }
    return append_container(&page->arena, chain, item);
}

static const BlockContext *made(Arena *arena, BlockContext place)
{
    BlockContext *copy = arena_alloc(arena, sizeof *copy);
    *copy = place;
    return copy;
}

static const BlockContext *table_within(BlockContexts *places, Chain chain, uint32_t box)
{
    const DataTable *table = data_table(places->kept, box);
    uint32_t owner = table != NULL ? box : NOWHERE;
    return made(&places->kept->page->arena, (BlockContext){.chain = chain, .owner = owner, .table = table});
}

/* What a box makes of what is around it. */
static const BlockContext *within(BlockContexts *places, const BlockContext *outer, uint32_t box)
{
    Page *page = places->kept->page;
    Arena *arena = &page->arena;
    uint32_t tag = AT(arena, page->walk.box_tags, box);
    Chain chain = outer->chain;
    if (outer->is_code || outer->table != NULL)
        return outer;
    if (tag == TAG_li)
        return made(arena, (BlockContext){.chain = item_within(places, chain, box), .owner = NOWHERE});
    if (tag == TAG_blockquote) {
        chain = count_levels(chain) < MAX_LEVELS ? append_container(arena, chain, (Container){0}) : chain;
        return made(arena, (BlockContext){.chain = chain, .owner = NOWHERE});
    }
    if (is_pre(tag))
        return made(arena, (BlockContext){.chain = chain, .owner = box, .is_code = true});
    if (level_of(tag) && is_short(page, box))
        return made(arena, (BlockContext){.chain = chain, .level = level_of(tag), .owner = box});
    if (tag == TAG_dt)
        return made(arena, (BlockContext){.chain = chain, .owner = NOWHERE, .is_term = true});
    return tag == TAG_table ? table_within(places, chain, box) : outer;
}

/* Found once for each box; each asks only the box around it. */
const BlockContext *find_context(BlockContexts *places, uint32_t box)
{
    Page *page = places->kept->page;
    const BlockContext *found;
    places->entered.count = 0;
    while ((found = AT(&page->arena, places->found, box)) == NULL) {
        ADD(&page->arena, places->entered, box);
        box = AT(&page->arena, page->walk.box_parents, box);
    }
    while (places->entered.count) {
        box = places->entered.at[--places->entered.count];
        found = within(places, found, box);
        places->found.at[box] = found;
    }
    return found;
}
