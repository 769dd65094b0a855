/* Page layout: class hints and text statistics per element, the position of the prose and of the title:
   `article.layout`. */
#include "class_hints.h"
#include "names.h"
#include "page.h"
#include "table.h"
#include "unicode.h"

static const double shares[] = LAYOUT_ANCESTOR_SHARES;
static const uint32_t counted_hints[] = LAYOUT_COUNTED_HINTS;

/* One more than the group, so that tags that are not named there have none. */
#define GROUP(name, group) [TAG_##name] = (group) + 1,
static const uint8_t tag_groups[TAG_COUNT] = {EACH_LAYOUT_TAG_GROUP(GROUP)};
#undef GROUP

#define POINTS(name, points) [TAG_##name] = points,
static const double tag_points[TAG_COUNT] = {EACH_LAYOUT_TAG_POINTS(POINTS)};
#undef POINTS

/* A combination of tag and class on the page; its number is its index in the list. */
typedef struct {
    uint32_t tag;
    uint32_t hints;
    uint32_t next;              /* one more than the number of the next one of the same class, 0 for none */
} Style;

typedef struct {
    LIST(Style) known;
    Table classes;
    Numbers first;              /* of each class, as `next`; the first of all is that of boxes without one */
} Styles;

static Styles no_styles(Page *page)
{
    Styles styles = {0};
    styles.classes = make_table(&page->arena, page->layout.full.count);
    ADD(&page->arena, styles.first, 0);
    return styles;
}

/* The number of a box's style, which is added if it is new. One class has no more styles than there are box tags. */
static uint32_t style_of(Page *page, Styles *styles, uint32_t tag, Text class)
{
    Arena *arena = &page->arena;
    uint32_t number = class.at == NULL ? 0 : add_key(arena, &styles->classes, class) + 1;
    if (number == styles->first.count)
        ADD(arena, styles->first, 0);
    uint32_t *link = &AT(arena, styles->first, number);
    while (*link) {
        Style *style = &AT(arena, styles->known, *link - 1);
        if (style->tag == tag)
            return *link - 1;
        link = &style->next;
    }
    *link = styles->known.count + 1;
    Style added = {tag, find_tag_hints(tag) | find_name_hints(page, class), 0};
    ADD(arena, styles->known, added);
    return styles->known.count - 1;
}

static uint32_t total(Arena *arena, const Numbers *sums)
{
    return AT(arena, *sums, sums->count - 1);
}

static uint32_t sum_between(Arena *arena, const Numbers *sums, uint32_t first, uint32_t end)
{
    return AT(arena, *sums, end) - AT(arena, *sums, first);
}

static void span_of(Page *page, uint32_t box, uint32_t *first, uint32_t *end)
{
    const Walk *walk = &page->walk;
    *first = AT(&page->arena, page->blocks.first_of_run, AT(&page->arena, walk->box_starts, box));
    *end = AT(&page->arena, page->blocks.first_of_run, AT(&page->arena, walk->box_ends, box));
}

static BoxStats compute_box_stats(Page *page, uint32_t first, uint32_t end)
{
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    double chars = sum_between(arena, &blocks->chars_before, first, end);
    return (BoxStats){
        .chars = chars,
        .linked = sum_between(arena, &blocks->links_before, first, end) / chars,
        .longs = sum_between(arena, &blocks->long_blocks_before, first, end),
        .blocks = end - first,
        .share = chars / total(arena, &blocks->chars_before),
        .pauses = sum_between(arena, &blocks->punctuation_before, first, end) / chars,
    };
}

static void find_text_boxes(Page *page)
{
    for (uint32_t box = 0; box < page->walk.box_tags.count; box++) {
        uint32_t first, end;
        span_of(page, box, &first, &end);
        if (first == end)
            continue;
        ADD(&page->arena, page->layout.full, box);
        page->layout.facts.at[box] = compute_box_stats(page, first, end);
    }
}

/* Read the hints of the boxes with text. */
static void read_box_hints(Page *page)
{
    Arena *arena = &page->arena;
    PageLayout *layout = &page->layout;
    Styles styles = no_styles(page);
    for (uint32_t number = 0; number < layout->full.count; number++) {
        uint32_t box = layout->full.at[number], parent = AT(arena, page->walk.box_parents, box);
        const Node *node = node_at(arena, &page->walk, &page->walk.box_nodes, box);
        Names names = names_of(node);
        uint32_t style = style_of(page, &styles, node->tag, names.class);
        uint32_t own = AT(arena, styles.known, style).hints | find_attribute_hints(page, &names);
        layout->styles.at[box] = style;
        layout->own.at[box] = own;
        layout->depth.at[box] = AT(arena, layout->depth, parent) + 1;
        layout->all.at[box] = own | AT(arena, layout->all, parent);
        layout->all_hints |= own;
    }
}

static void read_tags(Page *page)
{
    Arena *arena = &page->arena;
    PageLayout *layout = &page->layout;
    FILL(arena, layout->tags, page->blocks.boxes.count);
    for (uint32_t at = 0; at < layout->tags.count; at++) {
        uint32_t tag = AT(arena, page->walk.box_tags, page->blocks.boxes.at[at]);
        uint32_t group = tag_groups[tag];
        layout->tags.at[at] = group ? group - 1 : LAYOUT_OTHER_TAG;
    }
}

/* Add the points of blocks to the boxes around them: two scores of prose. Boxes with points by the rules of reader
 * modes are in the order of their first points, because sums depend on it. */
static void add_points(Page *page, Reals *by_length, Reals *earned_in, Numbers *scored_boxes)
{
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    const Numbers *parents = &page->walk.box_parents;
    for (uint32_t at = 0; at < blocks->boxes.count; at++) {
        uint32_t n = AT(arena, blocks->chars, at);
        if (n < LAYOUT_MIN_SCORED_CHARS)
            continue;
        uint32_t box = blocks->boxes.at[at], parent = AT(arena, *parents, box);
        uint32_t pauses = AT(arena, blocks->pauses, at);
        if (n >= BLOCKS_LONG_BLOCK_CHARS && pauses && 2 * (uint64_t)AT(arena, blocks->link_chars, at) < n) {
            uint32_t owner = page->layout.tags.at[at] == LAYOUT_DIV ? box : parent;
            double worth = n < LAYOUT_MAX_BLOCK_POINTS ? n : LAYOUT_MAX_BLOCK_POINTS;
            AT(arena, *by_length, owner) += worth;
            AT(arena, *by_length, AT(arena, *parents, owner)) += worth / 2;
        }
        double *earned = &AT(arena, *earned_in, parent);
        if (*earned == 0)
            ADD(arena, *scored_boxes, parent);
        *earned = *earned + 1 + pauses + (n < 300 ? n / 100 : 3);
    }
}

static void add_rule_points(Page *page, const Reals *earned_in, const Numbers *scored_boxes)
{
    Arena *arena = &page->arena;
    for (uint32_t number = 0; number < scored_boxes->count; number++) {
        uint32_t box = scored_boxes->at[number];
        double points = AT(arena, *earned_in, box);
        for (size_t step = 0; step < LAYOUT_ANCESTOR_SHARES_COUNT; step++) {
            AT(arena, page->layout.rule_points, box) += points * shares[step];
            uint32_t parent = AT(arena, page->walk.box_parents, box);
            if (parent == box)
                break;
            box = parent;
        }
    }
}

static void compute_points(Page *page)
{
    PageLayout *layout = &page->layout;
    for (uint32_t number = 0; number < layout->full.count; number++) {
        uint32_t box = layout->full.at[number], own = layout->own.at[box], tag = page->walk.box_tags.at[box];
        double earned = layout->rule_points.at[box];
        if (earned == 0)
            continue;
        double weight = (own & LAYOUT_POSITIVE_HINTS ? 25 : 0) - (own & LAYOUT_NEGATIVE_HINTS ? 25 : 0);
        double of_tag = tag_points[tag];
        layout->rule_points.at[box] = (earned + of_tag + weight) * (1 - layout->facts.at[box].linked);
    }
}

static uint32_t find_top_box(const PageLayout *layout, const Reals *points)
{
    double best = 0;
    uint32_t found = 0;
    for (uint32_t number = 0; number < layout->full.count; number++) {
        uint32_t box = layout->full.at[number];
        double value = points->at[box];
        if (value > best && (value *= 1 - layout->facts.at[box].linked) > best) {
            best = value;
            found = box;
        }
    }
    return found;
}

static bool shows_title(Page *page, Text text, Text title)
{
    Text lower_text = lowered(&page->arena, text);
    bool is_part = lower_text.size <= title.size;
    return find(is_part ? title : lower_text, is_part ? lower_text : title, 0) != UINT32_MAX;
}

/* The block that shows the title, a heading if there is one; -1 for none. */
static int32_t find_title_block(Page *page)
{
    const Numbers *tags = &page->layout.tags;
    Text title = page->hints.title;
    int32_t index = -1;
    uint32_t chars = title.at == NULL ? 0 : count_characters(title);
    if (chars < LAYOUT_MIN_TITLE_CHARS)
        return index;
    uint32_t min_chars = chars / 2 < LAYOUT_MIN_TITLE_CHARS - 1 ? LAYOUT_MIN_TITLE_CHARS - 1 : chars / 2;
    for (uint32_t at = 0; at < tags->count; at++) {
        uint32_t length = AT(&page->arena, page->blocks.lengths, at);
        bool is_heading = is_heading_class(tags->at[at]);
        if (length <= min_chars || length > LAYOUT_MAX_TITLE_CHARS || (index >= 0 && !is_heading))
            continue;
        if (shows_title(page, AT(&page->arena, page->blocks.texts, at), title)) {
            index = (int32_t)at;
            if (is_heading)
                break;
        }
    }
    return index;
}

static void find_title(Page *page)
{
    PageLayout *layout = &page->layout;
    layout->h1_block = -1;
    for (uint32_t at = 0; at < layout->tags.count && layout->h1_block < 0; at++)
        if (layout->tags.at[at] == LAYOUT_H1)
            layout->h1_block = (int32_t)at;
    int32_t index = find_title_block(page);
    layout->title_block = index >= 0 ? index : layout->h1_block;
}

static uint32_t distinct_boxes(Page *page)
{
    uint32_t found = 0;
    Bytes seen;
    FILL(&page->arena, seen, page->walk.box_tags.count);
    for (uint32_t at = 0; at < page->blocks.boxes.count; at++) {
        uint8_t *is_seen = &AT(&page->arena, seen, page->blocks.boxes.at[at]);
        found += !*is_seen;
        *is_seen = 1;
    }
    return found;
}

/* The ratio of text in boxes with each of some hints. */
static void put_hint_shares(Page *page, double *numbers, double total_chars)
{
    const PageLayout *layout = &page->layout;
    uint64_t counted[LAYOUT_COUNTED_HINTS_COUNT] = {0};
    for (uint32_t number = 0; number < layout->full.count; number++) {
        uint32_t box = layout->full.at[number], first, end;
        uint32_t counted_bits = layout->own.at[box] & LAYOUT_COUNTED_HINT_BITS;
        /* A box that inherits the hint was already counted with its ancestor. */
        if (counted_bits && box)
            counted_bits &= ~AT(&page->arena, layout->all, AT(&page->arena, page->walk.box_parents, box));
        if (!counted_bits)
            continue;
        span_of(page, box, &first, &end);
        for (size_t hint = 0; hint < LAYOUT_COUNTED_HINTS_COUNT; hint++)
            if (counted_bits & counted_hints[hint])
                counted[hint] += sum_between(&page->arena, &page->blocks.chars_before, first, end);
    }
    for (size_t hint = 0; hint < LAYOUT_COUNTED_HINTS_COUNT; hint++)
        numbers[hint] = (double)counted[hint] / total_chars;
}

/* The values of layout.PAGE_FEATURES; the shares of hints are the last ones. */
static void count_page(Page *page, double top_points)
{
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    PageLayout *layout = &page->layout;
    uint32_t of_class[LAYOUT_OTHER_TAG + 1] = {0};
    for (uint32_t at = 0; at < layout->tags.count; at++)
        of_class[layout->tags.at[at]]++;
    double count = blocks->boxes.count ? blocks->boxes.count : 1;
    double chars = total(arena, &blocks->chars_before), total_chars = chars > 0 ? chars : 1;
    const BoxStats *top = &AT(arena, layout->facts, layout->top);
    const BoxStats *rule_top = &AT(arena, layout->facts, layout->rule_top);
    double *values = layout->numbers;
    values[PAGE_FEATURE_page_chars] = chars;
    values[PAGE_FEATURE_page_link_share] = total(arena, &blocks->links_before) / total_chars;
    values[PAGE_FEATURE_page_long] = total(arena, &blocks->long_blocks_before);
    values[PAGE_FEATURE_page_blocks] = blocks->boxes.count;
    memcpy(values + PAGE_FEATURE_og_article, page->hints.numbers, sizeof page->hints.numbers);
    values[PAGE_FEATURE_li_share] = of_class[LAYOUT_LI] / count;
    values[PAGE_FEATURE_cell_share] = of_class[LAYOUT_CELL] / count;
    values[PAGE_FEATURE_pre] = of_class[LAYOUT_PRE];
    values[PAGE_FEATURE_top_points] = top_points;
    values[PAGE_FEATURE_top_share] = top->share;
    values[PAGE_FEATURE_top_link_share] = top->linked;
    values[PAGE_FEATURE_top2_share] = rule_top->share;
    values[PAGE_FEATURE_h1_count] = of_class[LAYOUT_H1];
    values[PAGE_FEATURE_headings] = (of_class[LAYOUT_H1] + of_class[LAYOUT_H2] + of_class[LAYOUT_H3]) / count;
    values[PAGE_FEATURE_same_classes] = distinct_boxes(page) / count;
    put_hint_shares(page, values + PAGE_FEATURE_product_share, total_chars);
}

void read_layout(Page *page)
{
    Arena *arena = &page->arena;
    PageLayout *layout = &page->layout;
    uint32_t count = page->walk.box_tags.count;
    if (!are_class_hints_set())
        page_fail(arena, "no class hints were set");
    *layout = (PageLayout){0};
    FILL(arena, layout->depth, count);
    FILL(arena, layout->own, count);
    FILL(arena, layout->all, count);
    FILL(arena, layout->facts, count);
    FILL(arena, layout->styles, count);
    FILL(arena, layout->rule_points, count);
    find_text_boxes(page);
    read_box_hints(page);
    read_tags(page);
    Reals by_length, earned_in;
    Numbers scored_boxes = {0};
    FILL(arena, by_length, count);
    FILL(arena, earned_in, count);
    add_points(page, &by_length, &earned_in, &scored_boxes);
    add_rule_points(page, &earned_in, &scored_boxes);
    compute_points(page);
    layout->top = find_top_box(layout, &by_length);
    layout->rule_top = find_top_box(layout, &layout->rule_points);
    find_title(page);
    count_page(page, AT(arena, by_length, layout->top));
}
