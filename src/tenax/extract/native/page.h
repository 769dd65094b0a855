/* A page while it is read: what each step leaves for the next. The steps are those of Python's rooms of the same name,
 * which say why each is as it is; what they compute is the same to the last character, and a test holds that.
 */
#ifndef TENAX_PAGE_H
#define TENAX_PAGE_H

#include "dom.h"
#include "pack.h"
#include "tags.h"

#define BREAK 0          /* stands for a line break among fragments; no parsed text contains it */
#define RUN 1            /* before each run in the marked text */
#define PARAGRAPH 2      /* within a run where the page breaks lines twice in a row */
#define MAX_BLOCKS 10000
#define MAX_BOXES 50000
#define LONG_CHARS 80

/* html.Walk: lists of one family have the same length. A fragment that is not a text of the page is one byte: BREAK or
 * a space. */
typedef struct {
    Texts fragments;
    uint32_t line_breaks;
    Nodes leading;
    Numbers link_starts, link_ends;
    Nodes telling;
    Nodes images;
    Numbers image_places;
    Numbers box_tags;           /* those of unknown elements are TAG_COUNT */
    Nodes box_nodes;
    Numbers box_parents, box_firsts, box_ends;
    Numbers run_starts, run_boxes;
    Nodes run_nodes;
    bool is_unscripted;         /* <noscript> is a box here */
    bool is_full;               /* there were too many boxes */
    uint32_t judged_runs;       /* those that began before */
} Walk;

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
    Numbers chars_before, links_before, pauses_before, long_before;   /* one more than there are blocks */
} Blocks;

/* hints.Hints, as far as they are needed: computed by Python. */
#define HINT_NUMBERS 13         /* "og article" to "has query" of outline.OF_PAGE */
#define ADDRESS_WORDS 6         /* of kinds._ADDRESS_WORDS, each 0 or 1 */
typedef struct {
    Text title;                 /* in lower case */
    double numbers[HINT_NUMBERS];
    double address[ADDRESS_WORDS];
} Hints;

/* outline.Outline */
#define MARK_COUNT 22           /* marks.MARKS; the bits in their order */
#define PAGE_NUMBERS 30         /* outline.OF_PAGE */
enum { MARK_nav, MARK_header, MARK_footer, MARK_side, MARK_comment, MARK_related, MARK_share, MARK_ad, MARK_consent,
       MARK_byline, MARK_meta, MARK_caption, MARK_article, MARK_content, MARK_title, MARK_product, MARK_list,
       MARK_forum, MARK_hidden, MARK_login, MARK_table, MARK_unshown };
#define BIT(mark) ((uint32_t)1 << MARK_##mark)

enum { CLASS_P, CLASS_LI, CLASS_H1, CLASS_H2, CLASS_H3, CLASS_H456, CLASS_CELL, CLASS_DIV, CLASS_ARTICLE, CLASS_QUOTE,
       CLASS_PRE, CLASS_FIGURE, CLASS_TERM, CLASS_DETAILS, CLASS_UNREAD, CLASS_OTHER };

static inline bool is_heading_class(uint32_t class) { return class >= CLASS_H1 && class <= CLASS_H456; }

typedef struct {
    double chars, linked, longs, blocks, share, pauses;
} Facts;

typedef struct {
    Numbers depth, own, all;    /* of each box */
    LIST(Facts) facts;
    Numbers full;               /* the boxes that hold text */
    Numbers styles;
    uint32_t marks;
    Numbers tags;               /* the class of each block's tag, CLASS_ */
    Reals points2;
    uint32_t top, top2;
    int32_t title_at, h1_at;
    double numbers[PAGE_NUMBERS];
} Outline;

typedef struct {
    LIST(bool) kept;            /* of each block */
    Reals scores;
} Judgement;

enum { KIND_NONE = -1 };

typedef struct Page Page;
struct Page {
    Arena arena;
    Node *root;
    Walk walk;
    Blocks blocks;
    Hints hints;
    Outline outline;
    int32_t kind;               /* its place in the kinds table; KIND_NONE for a page without text */
    Judgement judgement;
    Text text;                  /* what can be seen; none before the page was read */
    Nodes scripts;              /* of the whole tree; none of a page that is skimmed */
};

/* walk.c: from the root of the tree; <noscript> is entered where the page shows next to nothing without it. */
void read_walk(Page *page);

/* Below another node than the root: `Walk(node)`, for the text of one element. */
void walk_below(Arena *arena, Node *root, Walk *walk, bool is_unscripted);

/* What the walk does at an element: html._KINDS. */
enum { STEP_INLINE, STEP_BLOCK, STEP_CELL, STEP_LINK, STEP_LINE, STEP_SPACE, STEP_IMAGE, STEP_NOTE, STEP_HIDDEN };
uint32_t step_at(uintptr_t tag, bool is_unscripted);
static inline bool is_border(uintptr_t tag, bool is_unscripted)
{
    uint32_t step = step_at(tag, is_unscripted);
    return step == STEP_BLOCK || step == STEP_CELL;
}
static inline bool is_entered(uintptr_t tag) { return step_at(tag, false) <= STEP_LINK; }

/* text.c: `text._marked`, and `inert`: without control characters. */
void read_blocks(Page *page);                       /* blocks.c: walk -> blocks */
Text visible_text(Arena *arena, const Walk *walk);  /* text._shown, without its limit */
Text inert(Arena *arena, Text text);                /* the text itself where it is so already */

/* layout.c, class_hints.c */
void read_outline(Page *page);                      /* blocks, hints -> outline */
uint32_t marks_of(Page *page, Text name);
uint32_t beginning_of(Page *page, Text lowered);    /* 0 for none */

/* decision_trees.c */
void read_kind(Page *page);                         /* outline, hints -> kind */

/* select.c: doubts, features, scores, what is kept. */
void read_article(Page *page);                      /* outline, kind -> judgement */

/* links.c */
void pack_links(Page *page, Pack *pack);            /* links.read_links */
/* head.c: what head.read_head is made of, and the marks of bylines.c. */
void pack_head(Page *page, Pack *pack, uint32_t marks);
/* Whether `head.stamps` may find anything in `scripts`: false only where it cannot. */
bool may_have_stamps(const Page *page);

/* bylines.c: which clauses of bylines.AUTHORS and bylines.DATES anything in the tree may match, a bit each; the scripts
 * are gathered on the way. */
uint32_t byline_marks(Page *page);

/* near.c: bylines.lines_around and bylines.lines_with_years, of the page's text. `title` is how it begins, in lower
 * case. */
void pack_lines_around(Page *page, Text title, Pack *pack);
void pack_lines_with_years(Page *page, Pack *pack);

/* markdown.c. `addresses` are in the order in which `pack_markdown_hrefs` gave the hrefs. */
void pack_markdown_hrefs(Page *page, Pack *pack);
void pack_markdown(Page *page, const Texts *addresses, Pack *pack);

/* fingerprint.c: fingerprint.near_fingerprint; 128 bytes, or none. */
Text near_fingerprint(Arena *arena, Text text);

#endif
