/* Lists and tables, which are kept whole or not at all. */
#include "scoring.h"

#define CELL_CHARS 60

ListIndex index_lists(Page *page)
{
    const Walk *walk = &page->walk;
    ListIndex list_index;
    FILL(&page->arena, list_index.homes, walk->box_parents.count);
    if (list_index.homes.count > 0)
        list_index.homes.at[0] = -1;
    for (uint32_t place = 0; place < page->layout.full.count; place++) {
        uint32_t box = page->layout.full.at[place];
        if (box == 0)
            continue;
        uint32_t tag = AT(&page->arena, walk->box_tags, box);
        bool is_home = tag == TAG_table || tag == TAG_ul || tag == TAG_ol || tag == TAG_dl;
        /* Outer boxes come before inner ones. */
        AT(&page->arena, list_index.homes, box) =
            is_home ? (int32_t)box : AT(&page->arena, list_index.homes, AT(&page->arena, walk->box_parents, box));
    }
    return list_index;
}

/* Large cells are columns, in which the page is laid out: they are judged each for itself. */
bool is_scored_together(Page *page, uint32_t home, const uint32_t *members, uint32_t count)
{
    if (AT(&page->arena, page->walk.box_tags, home) != TAG_table)
        return true;
    uint64_t chars = 0;
    for (uint32_t place = 0; place < count; place++)
        chars += AT(&page->arena, page->blocks.chars, members[place]);
    return chars < (uint64_t)CELL_CHARS * count;
}

ListMembers group_by_list(Page *page, const ListIndex *list_index, const bool *wanted)
{
    Arena *arena = &page->arena;
    const Numbers *boxes = &page->blocks.boxes;
    ListMembers found = {0};
    Numbers groups, ends = {0};     /* of each box from 1, of each group */
    FILL(arena, groups, list_index->homes.count);
    for (uint32_t at = 0; at < boxes->count; at++) {
        int32_t home = AT(arena, list_index->homes, boxes->at[at]);
        if (home < 0 || (wanted != NULL && !wanted[at]))
            continue;
        uint32_t *group = &AT(arena, groups, (uint32_t)home);
        if (*group == 0) {
            ADD(arena, found.homes, (uint32_t)home);
            ADD(arena, ends, 0);
            *group = found.homes.count;
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
        int32_t home = AT(arena, list_index->homes, boxes->at[at]);
        if (home >= 0 && (wanted == NULL || wanted[at]))
            AT(arena, found.blocks, ends.at[groups.at[home] - 1]++) = at;
    }
    return found;
}
