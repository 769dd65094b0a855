/* The Markdown context of a block: the quotes, lists, headings, tables or code around it: `markdown.structure`
 * (`BlockContexts`). */
#include "markdown.h"

static const BlockContext OUTSIDE = {.owner = NOWHERE};

BlockContexts make_contexts(const KeptBlocks *kept)
{
    BlockContexts contexts = {.kept = kept};
    Arena *arena = &kept->page->arena;
    uint32_t boxes = kept->page->walk.box_tags.count;
    FILL(arena, contexts.found, boxes);
    FILL(arena, contexts.next_numbers, boxes);
    AT(arena, contexts.found, 0) = &OUTSIDE;
    return contexts;
}

static uint32_t level_of(uint32_t tag) { return tag >= TAG_h1 && tag <= TAG_h6 ? tag - TAG_h1 + 1 : 0; }

static bool is_pre(uint32_t tag)
{
    switch (tag) {
        EACH_STRUCTURE_PREFORMATTED_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

/* Whether a box is short enough for a heading: else it is an article inside a heading that was never closed. */
static bool is_short(Page *page, uint32_t box)
{
    Span span = span_of(page, box);
    const Numbers *chars = &page->blocks.chars_before;
    return span.end - span.first <= STRUCTURE_MAX_HEADING_BLOCKS &&
           AT(&page->arena, *chars, span.end) - AT(&page->arena, *chars, span.first) <= STRUCTURE_MAX_HEADING_CHARS;
}

static uint32_t start_of(const Node *list)
{
    Text start = get_attribute(list, NAME_start);
    uint32_t number = 0;
    if (start.size == 0 || start.size > STRUCTURE_MAX_START_DIGITS)
        return 1;
    for (uint32_t at = 0; at < start.size; at++) {
        if (start.at[at] < '0' || start.at[at] > '9')
            return 1;
        number = number * 10 + (start.at[at] - '0');
    }
    return number;
}

static Chain item_within(BlockContexts *contexts, Chain chain, uint32_t box)
{
    Page *page = contexts->kept->page;
    if (count_levels(chain) + 2 > STRUCTURE_MAX_LEVELS)
        return chain;
    uint32_t parent = AT(&page->arena, page->walk.box_parents, box);
    Container item = {.is_item = true, .list = parent};
    if (AT(&page->arena, page->walk.box_tags, parent) == TAG_ol) {
        uint64_t *next = &AT(&page->arena, contexts->next_numbers, parent);
        if (*next == 0)
            *next = (uint64_t)start_of(node_at(&page->arena, &page->walk, &page->walk.box_nodes, parent)) + 1;
        item.is_numbered = true;
        item.number = (uint32_t)(*next)++ - 1;
    }
    return append_container(&page->arena, chain, item);
}

static const BlockContext *new_context(Arena *arena, BlockContext context)
{
    BlockContext *copy = arena_alloc(arena, sizeof *copy);
    *copy = context;
    return copy;
}

static const BlockContext *table_within(BlockContexts *contexts, Chain chain, uint32_t box)
{
    const DataTable *table = data_table(contexts->kept, box);
    uint32_t owner = table != NULL ? box : NOWHERE;
    return new_context(&contexts->kept->page->arena, (BlockContext){.chain = chain, .owner = owner, .table = table});
}

/* The context within a box. */
static const BlockContext *nest_context(BlockContexts *contexts, const BlockContext *outer, uint32_t box)
{
    Page *page = contexts->kept->page;
    Arena *arena = &page->arena;
    uint32_t tag = AT(arena, page->walk.box_tags, box);
    Chain chain = outer->chain;
    if (outer->is_code || outer->table != NULL)
        return outer;
    if (tag == TAG_li)
        return new_context(arena, (BlockContext){.chain = item_within(contexts, chain, box), .owner = NOWHERE});
    if (tag == TAG_blockquote) {
        chain = count_levels(chain) < STRUCTURE_MAX_LEVELS ? append_container(arena, chain, (Container){0}) : chain;
        return new_context(arena, (BlockContext){.chain = chain, .owner = NOWHERE});
    }
    if (is_pre(tag))
        return new_context(arena, (BlockContext){.chain = chain, .owner = box, .is_code = true});
    if (level_of(tag) && is_short(page, box))
        return new_context(arena, (BlockContext){.chain = chain, .level = level_of(tag), .owner = box});
    if (tag == TAG_dt)
        return new_context(arena, (BlockContext){.chain = chain, .owner = NOWHERE, .is_term = true});
    return tag == TAG_table ? table_within(contexts, chain, box) : outer;
}

/* Computed once per box, from the context of its parent. */
const BlockContext *find_context(BlockContexts *contexts, uint32_t box)
{
    Page *page = contexts->kept->page;
    const BlockContext *found;
    contexts->entered.count = 0;
    while ((found = AT(&page->arena, contexts->found, box)) == NULL) {
        ADD(&page->arena, contexts->entered, box);
        box = AT(&page->arena, page->walk.box_parents, box);
    }
    while (contexts->entered.count) {
        box = contexts->entered.at[--contexts->entered.count];
        found = nest_context(contexts, found, box);
        contexts->found.at[box] = found;
    }
    return found;
}
