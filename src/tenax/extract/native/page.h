/* A page while it is read: the results of each step for the next. The Python modules that the first comments of the
 * files name give the reasons; the results are the same to the last character, and a test checks that. */
#ifndef TENAX_PAGE_H
#define TENAX_PAGE_H

#include "constants.h"
#include "dom.h"
#include "pack.h"

/* The cases of a switch, by a set of numbers or of tags in constants.h. */
#define CASE(number) case number:
#define TAG_CASE(name) case TAG_##name:

/* tree.Walk: lists of one family have the same length. Fragments and nodes are indexes of `nodes`. A fragment that is
 * not a text of the page is one byte: TREE_BREAK or a space. */
typedef struct {
    const Node *nodes;
    Numbers fragments;
    uint32_t line_breaks;
    Numbers link_nodes;
    Numbers link_starts, link_ends;
    Numbers metadata_nodes;
    Numbers images;
    Numbers image_positions;
    Numbers box_tags;
    Numbers box_nodes;
    Numbers box_parents, box_starts, box_ends;
    Numbers run_starts, run_boxes;
    Numbers run_nodes;
    bool with_noscript;         /* <noscript> is a box here */
    bool is_full;               /* the box limit was reached */
    uint32_t scored_runs;       /* those that began before that */
} Walk;

static inline const Node *node_at(Arena *arena, const Walk *walk, const Numbers *nodes, uint32_t place)
{
    return walk->nodes + AT(arena, *nodes, place);
}

/* The text of a fragment that there is, and of one that is looked up. */
static inline Text fragment_text(const Walk *walk, uint32_t place)
{
    return value_of(walk->nodes + walk->fragments.at[place]);
}

static inline Text fragment_at(Arena *arena, const Walk *walk, uint32_t place)
{
    return fragment_text(walk, check_index(arena, place, walk->fragments.count));
}

/* blocks.Blocks */
typedef struct {
    Texts texts;                /* parts of `marked` */
    Numbers lengths;            /* of the texts, in characters: Python's len */
    Numbers runs, boxes;        /* of each block */
    Numbers first_of_run;       /* one more than there are runs */
    bool is_cut;
    Text marked;
    uint32_t marks;
    Numbers link_chars, link_counts;
    Numbers chars, words, pauses;
    Numbers chars_before, links_before, punctuation_before, long_blocks_before;   /* one more than there are blocks */
} Blocks;

/* head.PageHints, as far as needed: computed by Python. */
/* Those from "og article" to "has query" of layout.PAGE_FEATURES. */
#define PAGE_HINT_NUMBERS (PAGE_FEATURE_has_query - PAGE_FEATURE_og_article + 1)
/* Those of page_type._ADDRESS_WORDS, each 0 or 1. */
#define ADDRESS_WORDS (KIND_FEATURE_COUNT - PAGE_FEATURE_COUNT)
typedef struct {
    Text title;                 /* in lower case */
    double numbers[PAGE_HINT_NUMBERS];
    double address[ADDRESS_WORDS];
} PageHints;

/* layout.PageLayout */
#define HINT_BIT(name) ((uint32_t)1 << HINT_##name)

static inline bool is_heading_class(uint32_t class)
{
    switch (class) {
        EACH_LAYOUT_HEADING_TAGS(CASE)
        return true;
    default:
        return false;
    }
}

typedef struct {
    double chars, linked, longs, blocks, share, pauses;
} BoxStats;

typedef struct {
    Numbers depth, own, all;    /* of each box */
    LIST(BoxStats) facts;
    Numbers full;               /* the boxes with text */
    Numbers styles;
    uint32_t all_hints;
    Numbers tags;               /* the group of each block's tag, CLASS_ */
    Reals rule_points;
    uint32_t top, rule_top;
    int32_t title_block, h1_block;
    double numbers[PAGE_FEATURE_COUNT];
} PageLayout;

typedef struct {
    LIST(bool) kept;            /* of each block */
    Reals scores;
} Selection;

enum { KIND_NONE = -1 };

typedef struct Page Page;
struct Page {
    Arena arena;
    Nodes nodes;                /* of the whole tree, from the root on */
    Walk walk;
    Blocks blocks;
    PageHints hints;
    PageLayout layout;
    int32_t kind;               /* its index in the kinds table; KIND_NONE for a page without text */
    Selection selection;
    Text text;                  /* visible text; empty before the page is read */
    Numbers scripts;            /* nodes of the whole tree; empty for a skimmed page */
};

/* walk.c: through the nodes of the page; enters <noscript> where the page shows almost nothing without it. */
void read_walk(Page *page);

/* How the walk treats an element: one of the kinds of html.tree. */
uint32_t step_at(uint32_t tag, bool with_noscript);
static inline bool is_border(uint32_t tag, bool with_noscript)
{
    uint32_t step = step_at(tag, with_noscript);
    return step == TREE_BLOCK || step == TREE_CELL;
}
static inline bool is_entered(uint32_t tag) { return step_at(tag, false) <= TREE_LINK; }

/* text.c: `visible.text_with_marks`, and `strip_controls`: without control characters. */
void read_blocks(Page *page);                       /* blocks.c: walk -> blocks */
Text visible_text(Arena *arena, const Walk *walk);  /* visible.visible_text, without its limit */
Text strip_controls(Arena *arena, Text text);                /* the same text if it has none */

/* layout.c, class_hints.c */
void read_layout(Page *page);                      /* blocks, hints -> layout */
uint32_t find_name_hints(Page *page, Text name);
uint32_t classify_beginning(Page *page, Text lowered);    /* 0 for none */

/* decision_trees.c */
void read_kind(Page *page);                         /* layout, hints -> kind */

/* select.c: plan, features, scores, selection. */
void select_article(Page *page);                      /* layout, kind -> selection */

/* links.c */
void pack_links(Page *page, Pack *pack);            /* links.read_links */
/* head.c: the input of head.read_head, and the clauses of bylines.c. */
void pack_head(Page *page, Pack *pack, uint32_t clauses);
/* Whether `head.find_script_dates` may find anything in `scripts`: false only where it cannot. */
bool may_have_script_dates(const Page *page);

/* bylines.c: which clauses of authors.AUTHOR_SELECTORS and authors.DATE_SELECTORS may match anything in the tree,
 * one bit each; collects the scripts as well. */
uint32_t byline_clauses(Page *page);

/* byline_lines.c: authors.find_lines_near_title and authors.find_lines_with_years, of the page's text. `title` is its
 * beginning, in lower case. */
void pack_byline_lines(Page *page, Text title, Pack *pack);
void pack_lines_with_years(Page *page, Pack *pack);

/* markdown.c. `addresses` are in the order of the hrefs of `pack_markdown_hrefs`. */
void pack_markdown_hrefs(Page *page, Pack *pack);
void pack_markdown(Page *page, const Texts *addresses, Pack *pack);

/* fingerprint.c: fingerprint.near_fingerprint; 128 bytes, or none. */
Text near_fingerprint(Arena *arena, Text text);

#endif
