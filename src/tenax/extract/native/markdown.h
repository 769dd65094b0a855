/* The kept blocks of a page as Markdown: what the files of that name share. See `parse.markdown`. */
#ifndef TENAX_MARKDOWN_H
#define TENAX_MARKDOWN_H

#include "page.h"
#include "table.h"

#define NOWHERE UINT32_MAX
#define MAX_AROUND 64   /* elements looked at around the beginning of a run */

/* Where a value would stand in a list in order: before those of its kind, and after them. */
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
void put_within(Buffer *buffer, uint32_t place, char character);   /* what is behind the place moves on */

/* What was written from a place on; good until more is written. */
static inline Text written(const Buffer *buffer, uint32_t from)
{
    return (Text){buffer->count > from ? buffer->at + from : (const uint8_t *)"", buffer->count - from};
}

/* markdown_escape.c */
Text escape_text(Arena *arena, Text text);                  /* the text itself where it is so already */
void escape_line_start(Buffer *buffer, uint32_t from);          /* `begun`, of the line written from there on */
void escape_closing_hashes(Buffer *buffer, uint32_t from);     /* what `heading` does to a line */
Text code_span(Arena *arena, Text text);
void put_fenced(Buffer *buffer, Text code, Text language);
/* Of the characters beside a text only bytes of ASCII count; 0 for none, 0xff for any other. */
bool can_emphasize(uint8_t before, Text text, uint8_t after);

/* What of the page is kept. */
typedef struct {
    Page *page;
    Numbers before;     /* how many blocks before each, and at last of all */
} Kept;

Kept count_kept_blocks(Page *page);
bool is_run_kept(const Kept *kept, uint32_t run);
uint32_t kept_in(const Kept *kept, uint32_t box);

/* `Blocks.span` */
typedef struct {
    uint32_t first, end;
} Span;

Span span_of(Page *page, uint32_t box);

/* markdown_hrefs.c: where links and pictures lead. */
typedef struct {
    Table numbers;
    Texts hrefs;            /* each once */
    const Texts *addresses; /* of each */
} Hrefs;

Hrefs collect_hrefs(const Kept *kept);

/* The address for what was written; empty for nothing, and for what leads nowhere. */
Text address_of(Arena *arena, const Hrefs *hrefs, Text href);
Text read_link_href(Arena *arena, const Hrefs *hrefs, const Node *element);

/* The link that began before a run and goes on in it; NOWHERE for none. */
uint32_t link_around(Page *page, uint32_t run);

/* The link that an image stands in, by its place; NULL for none. */
Node *link_of_image(Page *page, uint32_t place);

/* markdown_pictures.c. The texts of `read_image` are empty for what only decorates. */
typedef struct {
    Text alt, href;
} Picture;

Picture read_image(Arena *arena, const Node *image);
Text format_image(Arena *arena, const Hrefs *hrefs, const Node *image);

/* The boxes around a run and the next, as far as they are kept. */
#define NEAR_BOXES 2    /* from a kept block up to one that holds an image as well, for the image to belong to it */
typedef struct {
    struct { Node *node; uint32_t box; } boxes[2 * (NEAR_BOXES + 1)];
    uint32_t count;
} Near;

/* Runs count from 1 here: 0 stands before the first. */
Near find_nearby_boxes(const Kept *kept, uint32_t slot);
uint32_t find_image_box(const Node *image, const Near *near, bool with_noscript, bool *is_lost);   /* NOWHERE for none */

/* The images between a run and the next. */
Span images_after(Page *page, uint32_t slot);

/* markdown_inline.c */
enum { EM = 1, STRONG = 2 };

typedef struct {
    Text link;
    uint8_t mark;
    bool is_code;
} Style;

typedef struct {
    Text text;
    Style style;
    bool is_spaced;
} Piece;

typedef LIST(Piece) Pieces;

/* Text with the marks it wants around it. */
typedef struct {
    Text text;
    uint8_t mark;
    bool is_spaced;
} Item;

typedef LIST(Item) Items;

typedef struct {
    Node *node;
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

void read_run(InlineRun *run, Node *node, Text link);
void put_paragraph(Buffer *buffer, InlineRun *run, uint32_t paragraph);
void put_on_one_line(Buffer *buffer, InlineRun *run, uint32_t paragraph, uint32_t excluded_emphasis);

/* markdown_code.c */
typedef LIST(Text) Languages;     /* of the boxes that were asked about */
void put_code(Buffer *buffer, Languages *languages, const Kept *kept, uint32_t box);

/* markdown_writer.c */
#define MAX_LEVELS 16
#define SIGN_BYTES 16   /* a number, a sign and a space */

typedef struct {
    bool is_item, is_numbered;
    uint32_t list, number;
    uint8_t size;
    char first[SIGN_BYTES];
} Container;

typedef struct {
    Container **at;
    uint32_t count;
} Chain;

typedef struct {
    Buffer buffer;
    bool is_begun;
    Chain open;
    Bytes signs;            /* of each box that is a list; 0 for none yet */
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

DataTable *data_table(const Kept *kept, uint32_t box);  /* NULL for none */

typedef struct MarkdownWriter MarkdownWriter;
void put_table(Buffer *buffer, const DataTable *table, MarkdownWriter *writer);
Text cell_text(MarkdownWriter *writer, uint32_t box, bool is_head);     /* of markdown.c; good until the next one */

/* markdown_structure.c */
typedef struct {
    Chain chain;
    uint32_t level;         /* of a heading; 0 for none */
    uint32_t owner;         /* the heading, preformatted text or table itself; NOWHERE for none */
    bool is_code, is_term;
    const DataTable *table;
} BlockContext;

typedef struct {
    const Kept *kept;
    LIST(const BlockContext *) found;      /* of each box */
    LIST(uint64_t) next_numbers;    /* of each box that is a numbered list, and one more; 0 for none yet */
    Numbers entered;
} BlockContexts;

BlockContexts make_contexts(const Kept *kept);
const BlockContext *find_context(BlockContexts *places, uint32_t box);

#endif
