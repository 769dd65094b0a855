/* The kept blocks of a page as Markdown: declarations shared by the markdown_*.c files. See `markdown.render`. */
#ifndef TENAX_MARKDOWN_H
#define TENAX_MARKDOWN_H

#include "page.h"
#include "table.h"

#define NOWHERE UINT32_MAX

/* The insertion point of a value in a sorted list: before equal ones, and after them. */
static inline uint32_t bisect_left(const Numbers *numbers, uint32_t value)
{
    uint32_t low = 0, high = numbers->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (numbers->at[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline uint32_t bisect_right(const Numbers *numbers, uint32_t value)
{
    return value == UINT32_MAX ? numbers->count : bisect_left(numbers, value + 1);
}

/* Text that is being written. */
typedef struct {
    Arena *arena;
    uint8_t *at;
    uint32_t count, capacity;
} Buffer;

void buffer_grow(Buffer *buffer, uint32_t size);

static inline void put(Buffer *buffer, const void *bytes, uint32_t size)
{
    if (size > buffer->capacity - buffer->count)
        buffer_grow(buffer, size);
    if (size)
        memcpy(buffer->at + buffer->count, bytes, size);
    buffer->count += size;
}

static inline void put_text(Buffer *buffer, Text text) { put(buffer, text.at, text.size); }
static inline void put_char(Buffer *buffer, char character) { put(buffer, &character, 1); }
static inline void put_literal(Buffer *buffer, const char *literal) { put(buffer, literal, (uint32_t)strlen(literal)); }

void put_times(Buffer *buffer, char character, uint32_t times);
void insert_char(Buffer *buffer, uint32_t place, char character);   /* what follows the position moves on */

/* The text written since `from`; valid until the next write. */
static inline Text written(const Buffer *buffer, uint32_t from)
{
    return (Text){buffer->count > from ? buffer->at + from : (const uint8_t *)"", buffer->count - from};
}

/* markdown_escape.c */
Text escape_text(Arena *arena, Text text);                  /* the same text if nothing is escaped */
void escape_line_start(Buffer *buffer, uint32_t from);          /* of the line written since `from` */
void escape_closing_hashes(Buffer *buffer, uint32_t from);     /* as `format_heading` does */
Text code_span(Arena *arena, Text text);
void put_fenced(Buffer *buffer, Text code, Text language);
/* Of the characters beside a text only ASCII bytes count; 0 for none, 0xff for any other. */
bool can_emphasize(uint8_t before, Text text, uint8_t after);

/* The kept blocks of the page. */
typedef struct {
    Page *page;
    Numbers before;     /* number of kept blocks before each, and in total at the end */
} KeptBlocks;

KeptBlocks count_kept_blocks(Page *page);
bool is_run_kept(const KeptBlocks *kept, uint32_t run);
uint32_t count_kept_in(const KeptBlocks *kept, uint32_t box);

/* `Blocks.span` */
typedef struct {
    uint32_t first, end;
} Span;

Span span_of(Page *page, uint32_t box);

/* markdown_hrefs.c: the URLs of links and images. */
typedef struct {
    Table numbers;
    Texts hrefs;            /* each once */
    const Texts *addresses; /* of each */
} Hrefs;

Hrefs collect_hrefs(const KeptBlocks *kept);

/* The URL for an href as written; empty for an empty or unusable one. */
Text resolved_href(Arena *arena, const Hrefs *hrefs, Text href);
Text read_link_href(Arena *arena, const Hrefs *hrefs, const Node *element);

/* The link that began before a run and continues in it; NOWHERE for none. */
uint32_t enclosing_link(Page *page, uint32_t run);

/* The link around an image, by its index; NULL for none. */
const Node *link_of_image(Page *page, uint32_t place);

/* markdown_pictures.c. The texts of `read_image` are empty for decoration. */
typedef struct {
    Text alt, href;
} Picture;

Picture read_image(Arena *arena, const Node *image);
Text format_image(Arena *arena, const Hrefs *hrefs, const Node *image);

/* The kept boxes around a run and the next. */
typedef struct {
    struct { const Node *node; uint32_t box; } boxes[2 * (RENDER_MAX_ANCESTOR_BOXES + 1)];
    uint32_t count;
} NearbyBoxes;

/* Runs count from 1 here: 0 is before the first. */
NearbyBoxes find_nearby_boxes(const KeptBlocks *kept, uint32_t slot);
uint32_t find_image_box(const Node *image, const NearbyBoxes *near, bool with_noscript, bool *is_lost);   /* NOWHERE for
                                                                                                      none */

/* The images between a run and the next. */
Span images_after(Page *page, uint32_t slot);

/* markdown_inline.c */
typedef struct {
    Text link;
    uint8_t emphasis;
    bool is_code;
} Style;

typedef struct {
    Text text;
    Style style;
    bool is_spaced;
} Piece;

typedef LIST(Piece) Pieces;

/* Text with the emphasis it needs. */
typedef struct {
    Text text;
    uint8_t emphasis;
    bool is_spaced;
} Item;

typedef LIST(Item) Items;

typedef struct {
    const Node *node;
    Style style;
} Opened;

typedef struct {
    Arena *arena;
    const Hrefs *hrefs;
    bool with_noscript;
    Pieces pieces;
    Numbers lines;          /* the first piece of each */
    Numbers paragraphs;     /* the first line of each */
    uint32_t pictures;
    bool is_spaced;
    uint32_t breaks;
    Pieces pending_images;
    uint32_t pending_image_count;
    LIST(Opened) opened;
    Pieces merged;          /* while a line is written */
    Items items, parts, groups;
} InlineRun;

void read_run(InlineRun *run, const Node *node, Text link);
void put_paragraph(Buffer *buffer, InlineRun *run, uint32_t paragraph);
void put_on_one_line(Buffer *buffer, InlineRun *run, uint32_t paragraph, uint32_t excluded_emphasis);

/* markdown_code.c */
typedef LIST(Text) Languages;     /* of the boxes looked up so far */
void put_code(Buffer *buffer, Languages *languages, const KeptBlocks *kept, uint32_t box);

/* markdown_writer.c */
#define MARKER_BYTES 16   /* a number, a marker and a space */

typedef struct {
    bool is_item, is_numbered;
    uint32_t list, number;
    uint8_t size;
    char first[MARKER_BYTES];
} Container;

typedef struct {
    Container **at;
    uint32_t count;
} Chain;

typedef struct {
    Buffer buffer;
    bool is_begun;
    Chain open;
    Bytes markers;            /* of each box that is a list; 0 for none yet */
} MarkdownOutput;

uint32_t count_levels(Chain chain);
Chain append_container(Arena *arena, Chain chain, Container container);
void output_add_block(MarkdownOutput *output, Chain chain, Text text);

/* markdown_tables.c */
typedef struct {
    uint32_t box, columns, rows;
    bool is_head;
} Cell;

typedef struct {
    LIST(Cell) cells;
    Numbers rows;           /* the first cell of each */
    Numbers captions;
    uint32_t first_row;
    bool has_thead;
} DataTable;

DataTable *data_table(const KeptBlocks *kept, uint32_t box);  /* NULL for none */

typedef struct MarkdownWriter MarkdownWriter;
void put_table(Buffer *buffer, const DataTable *table, MarkdownWriter *writer);
Text cell_text(MarkdownWriter *writer, uint32_t box, bool is_head);     /* in markdown.c; valid until the next one */

/* markdown_structure.c */
typedef struct {
    Chain chain;
    uint32_t level;         /* of a heading; 0 for none */
    uint32_t owner;         /* the box of the heading, preformatted text or table; NOWHERE for none */
    bool is_code, is_term;
    const DataTable *table;
} BlockContext;

typedef struct {
    const KeptBlocks *kept;
    LIST(const BlockContext *) found;      /* of each box */
    LIST(uint64_t) next_numbers;    /* of each box that is a numbered list, and one more; 0 for none yet */
    Numbers entered;
} BlockContexts;

BlockContexts make_contexts(const KeptBlocks *kept);
const BlockContext *find_context(BlockContexts *contexts, uint32_t box);

#endif
