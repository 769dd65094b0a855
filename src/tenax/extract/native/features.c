/* The values by which a block is scored: its own, those of the boxes around it, and those of the page:
   `article.features`. */
#include "scoring.h"

#include "decision_trees.h"
#include "table.h"
#include "unicode.h"

#define SIZE_CLASSES 1024
/* The place of a title that is not shown. */
#define NOT_SHOWN (-FEATURES_NO_TITLE_DISTANCE)

/* layout.box_distances: from one box to each, the steps up to a common ancestor, and from there down. */
typedef struct {
    int32_t up, down;       /* `up` is -1 where the distance is not known yet */
} BoxDistance;

/* How many blocks are in boxes of the same style within boxes of the same style, and their averages. */
typedef struct {
    double times, chars, linked;
} SimilarBlocks;

struct Features {
    Scoring *scoring;
    BoxDistance *from_top, *from_top2;      /* of each box with text */
    double peak;
    Numbers names;                  /* of each block, its index in `similar` */
    LIST(SimilarBlocks) similar;
    Numbers same;                   /* of each block, how often its text occurs on the page */
    Table title_words;
    uint64_t title_bits;           /* the bits of its words */
    Numbers seen_in;                /* of each word of the title, the last block found to contain it, from 1 */
    uint32_t first, end;            /* the blocks of the box with the most prose */
    uint32_t heading, heading_level, unrelated;
    int64_t heading_at;
};

static BoxDistance *box_distances(Page *page, uint32_t top)
{
    Arena *arena = &page->arena;
    const Numbers *parents = &page->walk.box_parents;
    BoxDistance *distances = arena_alloc(arena, (size_t)parents->count * sizeof *distances);
    memset(distances, 0xFF, (size_t)parents->count * sizeof *distances);
    uint32_t at = check_index(arena, top, parents->count);
    for (int32_t steps = 0; distances[at].up < 0; steps++) {
        distances[at] = (BoxDistance){steps, 0};
        at = check_index(arena, parents->at[at], parents->count);
    }
    for (uint32_t index = 0; index < page->layout.full.count; index++) {
        uint32_t box = check_index(arena, page->layout.full.at[index], parents->count);
        /* Outer boxes come before inner ones. */
        if (distances[box].up < 0) {
            BoxDistance outer = distances[check_index(arena, parents->at[box], parents->count)];
            distances[box] = (BoxDistance){outer.up, outer.down + 1};
        }
    }
    return distances;
}

/* The styles of a box and of the one around it, as a key. */
typedef struct {
    uint32_t own, around;
} Names;

static void count_similar_blocks(Features *features)
{
    Page *page = features->scoring->page;
    Arena *arena = &page->arena;
    const Numbers *styles = &page->layout.styles;
    uint32_t count = page->blocks.boxes.count, last_box = UINT32_MAX, number = 0;
    Table known = make_table(arena, count);
    Names *names = arena_alloc(arena, (size_t)count * sizeof *names);
    FILL(arena, features->names, count);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t box = page->blocks.boxes.at[at];
        if (box != last_box) {
            last_box = box;
            names[at] = (Names){AT(arena, *styles, box), AT(arena, *styles, AT(arena, page->walk.box_parents, box))};
            number = add_key(arena, &known, (Text){(const uint8_t *)&names[at], sizeof *names});
            if (number == features->similar.count)
                ADD(arena, features->similar, (SimilarBlocks){0});
        }
        features->names.at[at] = number;
        SimilarBlocks *similar = &AT(arena, features->similar, number);
        similar->times++;
        similar->chars += AT(arena, page->blocks.chars, at);
        similar->linked += AT(arena, features->scoring->shares, at);
    }
}

/* Counts how often each text occurs. Most texts are the only one of their size and need no comparison. */
static void count_same(Features *features)
{
    Page *page = features->scoring->page;
    Arena *arena = &page->arena;
    const Texts *texts = &page->blocks.texts;
    uint32_t sizes[SIZE_CLASSES] = {0}, doubtful = 0;
    for (uint32_t at = 0; at < texts->count; at++)
        doubtful += sizes[texts->at[at].size % SIZE_CLASSES]++ > 0 ? 2 : 0;
    if (doubtful > texts->count)
        doubtful = texts->count;
    FILL(arena, features->same, texts->count);
    Table known = make_table(arena, doubtful);
    Numbers times = {0}, numbers;
    FILL(arena, numbers, texts->count);
    for (uint32_t at = 0; at < texts->count; at++) {
        if (sizes[texts->at[at].size % SIZE_CLASSES] > 1) {
            uint32_t number = add_key(arena, &known, texts->at[at]);
            if (number == times.count)
                ADD(arena, times, 0);
            AT(arena, times, number)++;
            numbers.at[at] = number + 1;
        }
    }
    for (uint32_t at = 0; at < texts->count; at++)
        features->same.at[at] = numbers.at[at] > 0 ? times.at[numbers.at[at] - 1] : 1;
}

/* One of 64 bits, which distinguishes most words. */
static inline uint64_t word_bit(Text word) { return (uint64_t)1 << ((word.at[0] * 7u + word.size) % 64); }

static void read_title_words(Features *features)
{
    Page *page = features->scoring->page;
    Text title = page->hints.title;
    features->title_words = make_table(&page->arena, title.size / 2 + 1);
    for (Text word; next_split_word(&title, &word);) {
        add_key(&page->arena, &features->title_words, word);
        features->title_bits |= word_bit(word);
    }
    FILL(&page->arena, features->seen_in, features->title_words.count);
}

/* The ratio of the title's words that are in a text. */
static double share_of_title(Features *features, uint32_t block, Text lowered)
{
    uint32_t count = features->title_words.count, found = 0;
    if (count == 0)
        return 0.0;
    for (Text word; next_split_word(&lowered, &word);) {
        if (!(features->title_bits & word_bit(word)))
            continue;
        uint32_t number = find_key(&features->title_words, word);
        if (number != NO_KEY && features->seen_in.at[number] != block + 1) {
            features->seen_in.at[number] = block + 1;
            found++;
        }
    }
    return (double)found / count;
}

Features *make_features(Scoring *scoring)
{
    Page *page = scoring->page;
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    Features *features = arena_calloc(arena, 1, sizeof *features);
    features->scoring = scoring;
    features->from_top = box_distances(page, layout->top);
    features->from_top2 = layout->rule_top == layout->top ? features->from_top : box_distances(page, layout->rule_top);
    double peak = AT(arena, layout->rule_points, layout->rule_top);
    features->peak = peak > 1.0 ? peak : 1.0;
    count_similar_blocks(features);
    count_same(features);
    read_title_words(features);
    features->first = AT(arena, page->blocks.first_of_run, AT(arena, page->walk.box_starts, layout->top));
    features->end = AT(arena, page->blocks.first_of_run, AT(arena, page->walk.box_ends, layout->top));
    return features;
}

void reset_features(Features *features)
{
    features->heading = features->heading_level = features->unrelated = 0;
    features->heading_at = -1;
    for (uint32_t word = 0; word < features->seen_in.count; word++)
        features->seen_in.at[word] = 0;
}

_Static_assert(BOX_FEATURE_box_chars == (int)HINT_COUNT, "the values of a box begin with its hints");
_Static_assert(BOX_FEATURE_parent_chars - BOX_FEATURE_box_chars == sizeof(BoxStats) / sizeof(double) &&
                   BOX_FEATURE_box_link_share - BOX_FEATURE_box_chars == offsetof(BoxStats, linked) / sizeof(double) &&
                   BOX_FEATURE_box_long - BOX_FEATURE_box_chars == offsetof(BoxStats, longs) / sizeof(double) &&
                   BOX_FEATURE_box_blocks - BOX_FEATURE_box_chars == offsetof(BoxStats, blocks) / sizeof(double) &&
                   BOX_FEATURE_box_share - BOX_FEATURE_box_chars == offsetof(BoxStats, share) / sizeof(double),
               "the statistics of a box are copied in the order of its features");

/* For each hint: 3 if the box itself has it, 2 if its parent or grandparent, 1 if one further up, else 0. */
static void put_levels(double *values, uint32_t own, uint32_t near, uint32_t above)
{
    memset(values, 0, HINT_COUNT * sizeof *values);
    for (uint32_t left = (own | near | above) & (((uint32_t)1 << HINT_COUNT) - 1); left != 0; left &= left - 1) {
        uint32_t bit = left & -left;
        values[__builtin_ctz(left)] = own & bit ? 3 : near & bit ? 2 : 1;
    }
}

/* The statistics of a box, from the first of these features on. */
static void put_facts(double *values, uint32_t first, const BoxStats *facts)
{
    memcpy(values + first, facts, sizeof *facts);
}

static void put_box(const Features *features, uint32_t box, double *values)
{
    Page *page = features->scoring->page;
    Arena *arena = &page->arena;
    const PageLayout *layout = &page->layout;
    const Numbers *parents = &page->walk.box_parents, *own = &layout->own;
    uint32_t parent = AT(arena, *parents, box), second = AT(arena, *parents, parent);
    uint32_t near = AT(arena, *own, box) | AT(arena, *own, parent) | AT(arena, *own, second);
    put_levels(values, AT(arena, *own, box), near, AT(arena, layout->all, box));
    put_facts(values, BOX_FEATURE_box_chars, &AT(arena, layout->facts, box));
    put_facts(values, BOX_FEATURE_parent_chars, &AT(arena, layout->facts, parent));
    put_facts(values, BOX_FEATURE_grandparent_chars, &AT(arena, layout->facts, second));
    put_facts(values, BOX_FEATURE_third_chars, &AT(arena, layout->facts, AT(arena, *parents, second)));
    values[BOX_FEATURE_depth] = AT(arena, layout->depth, box);
    values[BOX_FEATURE_from_top] = features->from_top[box].up;
    values[BOX_FEATURE_to_top] = features->from_top[box].down;
    values[BOX_FEATURE_from_top2] = features->from_top2[box].up;
    values[BOX_FEATURE_to_top2] = features->from_top2[box].down;
    double points = AT(arena, layout->rule_points, box);
    if (AT(arena, layout->rule_points, parent) > points)
        points = AT(arena, layout->rule_points, parent);
    if (AT(arena, layout->rule_points, second) > points)
        points = AT(arena, layout->rule_points, second);
    values[BOX_FEATURE_points_share] = points / features->peak;
}

/* Whether the last character of a text ends a sentence or a quotation. */
static bool ends_sentence(Arena *arena, Text text)
{
    static const char *const ENDS[] = {"。", "！", "？", "…", "”", "’", "»", "؟", "۔", "।"};
    if (text.size == 0)
        page_fail(arena, "a block without text");
    uint8_t last = text.at[text.size - 1];
    if (last < 0x80)
        return last == '.' || last == '!' || last == '?' || last == '"' || last == ')';
    for (uint32_t at = 0; at < sizeof ENDS / sizeof *ENDS; at++) {
        size_t size = strlen(ENDS[at]);
        if (text.size >= size && memcmp(text.at + text.size - size, ENDS[at], size) == 0)
            return true;
    }
    return false;
}

/* Length, ratio of links and tag of a neighbour, from the first of these features on; -1 where there is none. */
static void put_neighbour(Features *features, uint32_t block, double *values)
{
    enum { CHARS, SHARE = BLOCK_FEATURE_before_link_share - BLOCK_FEATURE_before_chars,
           TAG = BLOCK_FEATURE_before_tag - BLOCK_FEATURE_before_chars };
    Page *page = features->scoring->page;
    bool is_there = block < page->blocks.chars.count;
    values[CHARS] = is_there ? AT(&page->arena, page->blocks.chars, block) : -1.0;
    values[SHARE] = is_there ? AT(&page->arena, features->scoring->shares, block) : -1.0;
    values[TAG] = is_there ? AT(&page->arena, page->layout.tags, block) : -1.0;
}

/* Reads a short block: the category of its beginning, and how much of the title it contains. It may be the heading
 * of those after it. */
static uint32_t read_short(Features *features, uint32_t block, uint32_t tag, uint32_t chars, double *in_title)
{
    const BlockText *current = block_text(features->scoring, block);
    *in_title = share_of_title(features, block, current->lowered);
    if (is_heading_class(tag)) {
        features->heading = current->beginning;
        features->heading_at = block;
        features->heading_level = tag;
        features->unrelated += current->beginning > 0;
    } else if (is_unrelated_beginning(current->beginning) && chars < FEATURES_SHORT_LINE_CHARS) {
        features->heading = current->beginning;
        features->heading_at = block;
        features->heading_level = FEATURES_PSEUDO_HEADING_LEVEL;
        features->unrelated++;
    }
    return current->beginning;
}

bool next_row(Features *features, uint32_t block, double *row)
{
    Page *page = features->scoring->page;
    Arena *arena = &page->arena;
    const Blocks *blocks = &page->blocks;
    const PageLayout *layout = &page->layout;
    uint32_t tag = AT(arena, layout->tags, block), chars = AT(arena, blocks->chars, block), beginning = 0;
    double in_title = 0.0;
    if (chars < FEATURES_SHORT_CHARS)
        beginning = read_short(features, block, tag, chars, &in_title);
    if (tag == LAYOUT_CONTROL_TAG)
        return false;
    const SimilarBlocks *similar = &AT(arena, features->similar, AT(arena, features->names, block));
    double whole = AT(arena, blocks->chars_before, blocks->texts.count);
    double index = block;
    row[BLOCK_FEATURE_tag] = tag;
    row[BLOCK_FEATURE_chars] = chars;
    row[BLOCK_FEATURE_words] = AT(arena, blocks->words, block);
    row[BLOCK_FEATURE_link_share] = AT(arena, features->scoring->shares, block);
    row[BLOCK_FEATURE_links] = AT(arena, blocks->link_counts, block);
    row[BLOCK_FEATURE_pauses] = AT(arena, blocks->pauses, block);
    row[BLOCK_FEATURE_ends] = ends_sentence(arena, AT(arena, blocks->texts, block));
    row[BLOCK_FEATURE_beginning] = beginning;
    row[BLOCK_FEATURE_in_title] = in_title;
    row[BLOCK_FEATURE_alike] = similar->times;
    row[BLOCK_FEATURE_alike_chars] = similar->chars / similar->times;
    row[BLOCK_FEATURE_alike_link_share] = similar->linked / similar->times;
    row[BLOCK_FEATURE_place] = index / blocks->texts.count;
    row[BLOCK_FEATURE_chars_before] = AT(arena, blocks->chars_before, block) / (whole > 1 ? whole : 1);
    row[BLOCK_FEATURE_from_title] = index - (layout->title_block >= 0 ? layout->title_block : NOT_SHOWN);
    row[BLOCK_FEATURE_from_h1] = index - (layout->h1_block >= 0 ? layout->h1_block : NOT_SHOWN);
    row[BLOCK_FEATURE_in_range] = features->first <= block && block < features->end;
    row[BLOCK_FEATURE_from_first] = index - features->first;
    row[BLOCK_FEATURE_to_last] = (double)features->end - 1 - index;
    row[BLOCK_FEATURE_heading] = features->heading;
    row[BLOCK_FEATURE_from_heading] = features->heading_at >= 0 ? index - (double)features->heading_at : -1.0;
    row[BLOCK_FEATURE_heading_level] = features->heading_level;
    bool is_most = features->unrelated >= FEATURES_MAX_UNRELATED_HEADINGS;
    row[BLOCK_FEATURE_strangers] = is_most ? FEATURES_MAX_UNRELATED_HEADINGS : features->unrelated;
    row[BLOCK_FEATURE_same_text] = AT(arena, features->same, block);
    put_neighbour(features, block - 1, row + BLOCK_FEATURE_before_chars);
    put_neighbour(features, block + 1, row + BLOCK_FEATURE_after_chars);
    put_box(features, AT(arena, blocks->boxes, block), row + BLOCK_FEATURE_COUNT);
    return true;
}
