/* Lists and tables, which are kept whole or not at all: `article.blocks`. */
#include "scoring.h"

static bool is_list_tag(uint32_t tag)
{
    switch (tag) {
        EACH_BLOCKS_LIST_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

ListIndex index_lists(Page *page)
{
    const Walk *walk = &page->walk;
    ListIndex list_index;
    FILL(&page->arena, list_index.list_boxes, walk->box_parents.count);
    if (list_index.list_boxes.count > 0)
        list_index.list_boxes.at[0] = -1;
    for (uint32_t index = 0; index < page->layout.full.count; index++) {
        uint32_t box = page->layout.full.at[index];
        if (box == 0)
            continue;
        bool is_list = is_list_tag(AT(&page->arena, walk->box_tags, box));
        /* Outer boxes come before inner ones. */
        AT(&page->arena, list_index.list_boxes, box) =
            is_list ? (int32_t)box : AT(&page->arena, list_index.list_boxes, AT(&page->arena, walk->box_parents, box));
    }
    return list_index;
}

/* Large cells are layout columns: each is scored separately. */
bool is_scored_together(Page *page, uint32_t list_box, const uint32_t *members, uint32_t count)
{
    if (AT(&page->arena, page->walk.box_tags, list_box) != TAG_table)
        return true;
    uint64_t chars = 0;
    for (uint32_t index = 0; index < count; index++)
        chars += AT(&page->arena, page->blocks.chars, members[index]);
    return chars < (uint64_t)BLOCKS_CELL_CHARS * count;
}

ListMembers group_by_list(Page *page, const ListIndex *list_index, const bool *included)
{
    Arena *arena = &page->arena;
    const Numbers *boxes = &page->blocks.boxes;
    ListMembers found = {0};
    Numbers groups, ends = {0};     /* of each box from 1, of each group */
    FILL(arena, groups, list_index->list_boxes.count);
    for (uint32_t at = 0; at < boxes->count; at++) {
        int32_t list_box = AT(arena, list_index->list_boxes, boxes->at[at]);
        if (list_box < 0 || (included != NULL && !included[at]))
            continue;
        uint32_t *group = &AT(arena, groups, (uint32_t)list_box);
        if (*group == 0) {
            ADD(arena, found.list_boxes, (uint32_t)list_box);
            ADD(arena, ends, 0);
            *group = found.list_boxes.count;
        }
        ends.at[*group - 1]++;
    }
    uint32_t total = 0;
    for (uint32_t group = 0; group < ends.count; group++) {
        ADD(arena, found.starts, total);
        total += ends.at[group];
        ends.at[group] = found.starts.at[group];
    }
    ADD(arena, found.starts, total);
    FILL(arena, found.blocks, total);
    for (uint32_t at = 0; at < boxes->count && total > 0; at++) {
        int32_t list_box = AT(arena, list_index->list_boxes, boxes->at[at]);
        if (list_box >= 0 && (included == NULL || included[at]))
            AT(arena, found.blocks, ends.at[groups.at[list_box] - 1]++) = at;
    }
    return found;
}
