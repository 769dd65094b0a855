/* Lists and tables, which are kept whole or not at all. */
#include "judging.h"

#define CELL_CHARS 60

Wholes wholes_of(Page *page)
{
    const Walk *walk = &page->walk;
    Wholes wholes;
    FILL(&page->arena, wholes.homes, walk->box_parents.count);
    if (wholes.homes.count > 0)
        wholes.homes.at[0] = -1;
    for (uint32_t place = 0; place < page->outline.full.count; place++) {
        uint32_t box = page->outline.full.at[place];
        if (box == 0)
            continue;
        uint32_t tag = AT(&page->arena, walk->box_tags, box);
        bool is_home = tag == TAG_table || tag == TAG_ul || tag == TAG_ol || tag == TAG_dl;
        /* Outer boxes come before inner ones. */
        AT(&page->arena, wholes.homes, box) =
            is_home ? (int32_t)box : AT(&page->arena, wholes.homes, AT(&page->arena, walk->box_parents, box));
    }
    return wholes;
}

/* Large cells are columns, in which the page is laid out: they are judged each for itself. */
bool is_whole(Page *page, uint32_t home, const uint32_t *members, uint32_t count)
{
    if (AT(&page->arena, page->walk.box_tags, home) != TAG_table)
        return true;
    uint64_t chars = 0;
    for (uint32_t place = 0; place < count; place++)
        chars += AT(&page->arena, page->blocks.chars, members[place]);
    return chars < (uint64_t)CELL_CHARS * count;
}

Members members_of(Page *page, const Wholes *wholes, const bool *wanted)
{
    Arena *arena = &page->arena;
    const Numbers *boxes = &page->blocks.boxes;
    Members found = {0};
    Numbers groups, ends = {0};     /* of each box from 1, of each group */
    FILL(arena, groups, wholes->homes.count);
    for (uint32_t at = 0; at < boxes->count; at++) {
        int32_t home = AT(arena, wholes->homes, boxes->at[at]);
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
        int32_t home = AT(arena, wholes->homes, boxes->at[at]);
        if (home >= 0 && (wanted == NULL || wanted[at]))
            AT(arena, found.blocks, ends.at[groups.at[home] - 1]++) = at;
    }
    return found;
}
