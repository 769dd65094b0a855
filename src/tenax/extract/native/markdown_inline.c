/* A run of text as Markdown: links, emphasis, code, images and line breaks of the elements within it:
 * `markdown.inline`. */
#include "markdown.h"
#include "unicode.h"

static const Style PLAIN = {{NULL, 0}, 0, false};

static bool is_same(Text one, Text other)
{
    return one.size == other.size && (one.at == other.at || one.size == 0 || memcmp(one.at, other.at, one.size) == 0);
}

static bool is_same_style(Style one, Style other)
{
    return one.emphasis == other.emphasis && one.is_code == other.is_code && is_same(one.link, other.link);
}

/* The style within an element. */
static Style element_style(const InlineRun *run, const Node *element, Style style)
{
    Text link;
    switch (element->tag) {
#define EMPHASIZE(name, kind) case TAG_##name: style.emphasis |= kind; break;
        EACH_INLINE_EMPHASIS_BY_TAG(EMPHASIZE)
#undef EMPHASIZE
        EACH_INLINE_CODE_TAGS(TAG_CASE)
        style.is_code = true;
        break;
    case TAG_a:
        link = read_link_href(run->arena, run->hrefs, element);
        style.link = link.size ? link : style.link;
        break;
    default:
        break;
    }
    return style;
}

/* Open the inline elements that are open where the run begins, outermost first; returns their combined style. */
static Style open_styles(InlineRun *run, const Node *node, Text link)
{
    const Node *above[INLINE_MAX_OPEN_ELEMENTS];
    uint32_t count = 0;
    for (const Node *parent = parent_of(node); parent != NULL; parent = parent_of(parent)) {
        if (count == INLINE_MAX_OPEN_ELEMENTS)
            break;
        if (is_border(parent->tag, run->with_noscript))
            break;
        above[count++] = parent;
    }
    Style style = PLAIN;
    style.link = link;
    while (count-- > 0) {
        ADD(run->arena, run->opened, ((Opened){above[count], style}));
        style = element_style(run, above[count], style);
    }
    return style;
}

static void add_piece(InlineRun *run, Text text, Style style, bool is_spaced)
{
    ADD(run->arena, run->pieces, ((Piece){text, style, is_spaced}));
}

/* A text follows line breaks or images: begin its line or paragraph. */
static void end_line(InlineRun *run)
{
    if (run->breaks > 1)
        ADD(run->arena, run->paragraphs, run->lines.count);
    if (run->breaks)
        ADD(run->arena, run->lines, run->pieces.count);
    run->breaks = 0;
    for (uint32_t n = 0; n < run->pending_images.count; n++)
        ADD(run->arena, run->pieces, run->pending_images.at[n]);
    run->pictures += run->pending_image_count;
    run->pending_images.count = run->pending_image_count = 0;
}

/* Whether code may follow the last piece: else the backticks of the two would merge. */
static bool may_be_code(const InlineRun *run, Style style, bool is_spaced)
{
    if (is_spaced || run->pieces.count == run->lines.at[run->lines.count - 1])
        return true;
    Style last = run->pieces.at[run->pieces.count - 1].style;
    return !last.is_code || is_same_style(last, style);
}

static void add_text(InlineRun *run, Text raw, Style style)
{
    Text text = strip_text(raw);
    if (text.size == 0) {
        run->is_spaced = run->is_spaced || raw.size;
        return;
    }
    bool is_spaced = run->is_spaced || text.at > raw.at;
    run->is_spaced = text.at + text.size < raw.at + raw.size;
    /* Most texts have no white space but single spaces. */
    text = collapse_spaces(run->arena, text);
    if (run->breaks || run->pending_image_count)
        end_line(run);
    style.is_code = style.is_code && may_be_code(run, style, is_spaced);
    add_piece(run, style.is_code ? text : escape_text(run->arena, text), style, is_spaced);
}

/* An element whose content is not read. */
static void add_void(InlineRun *run, const Node *node, Style style)
{
    if (node->tag == TAG_br) {
        run->breaks++;
    } else if (node->tag == TAG_input) {
        run->is_spaced = true;
    } else if (node->tag == TAG_img) {
        /* It is not known yet whether a text follows, which would put it within the run. */
        run->is_spaced = true;
        run->pending_image_count++;
        Text shown = format_image(run->arena, run->hrefs, node);
        if (shown.size)
            ADD(run->arena, run->pending_images, ((Piece){shown, {style.link, 0, false}, true}));
    }
}

static void clear_run(InlineRun *run)
{
    run->pieces.count = run->lines.count = run->paragraphs.count = run->pending_images.count = run->opened.count = 0;
    run->pictures = run->breaks = run->pending_image_count = 0;
    run->is_spaced = false;
    ADD(run->arena, run->lines, 0);
    ADD(run->arena, run->paragraphs, 0);
}

/* Read from the first text of the run to the next border of a box; `link` links all of it. */
void read_run(InlineRun *run, const Node *node, Text link)
{
    clear_run(run);
    Style style = open_styles(run, node, link);
    bool is_cut = run->opened.count == INLINE_MAX_OPEN_ELEMENTS;
    const Node *at = node, *last = node, *around;
    for (;;) {
        while (at != NULL) {
            last = at;
            Text text = node_text(at);
            if (text.at != NULL) {
                add_text(run, text, style);
                at = next_of(at);
                continue;
            }
            if (is_border(at->tag, run->with_noscript))
                return;
            const Node *child = is_entered(at->tag) ? first_child(at) : NULL;
            if (child == NULL) {
                add_void(run, at, style);
                at = next_of(at);
                continue;
            }
            ADD(run->arena, run->opened, ((Opened){at, style}));
            style = element_style(run, at, style);
            at = child;
        }
        if (run->opened.count) {
            Opened left = run->opened.at[--run->opened.count];
            last = left.node;
            style = left.style;
        } else if (is_cut && (around = parent_of(last)) != NULL && !is_border(around->tag, run->with_noscript)) {
            last = around;
            style = PLAIN;
        } else {
            return;
        }
        at = next_of(last);
    }
}

/* A trailing exclamation mark would turn the following link into an image. */
static void put_before_link(Buffer *buffer, uint32_t from)
{
    if (buffer->count > from && buffer->at[buffer->count - 1] == '!') {
        buffer->at[buffer->count - 1] = '\\';
        put_char(buffer, '!');
    }
}

/* Append a text to those written since `from`. */
static void put_joined(Buffer *buffer, uint32_t from, Text text, bool is_spaced)
{
    if (text.size == 0)
        return;
    if (buffer->count > from && is_spaced)
        put_char(buffer, ' ');
    else if (text.at[0] == '[')
        put_before_link(buffer, from);
    put_text(buffer, text);
}

static Text join_items(Arena *arena, const Item *items, uint32_t count)
{
    if (count == 1)
        return items[0].text;
    Buffer buffer = {.arena = arena};
    for (uint32_t n = 0; n < count; n++)
        put_joined(&buffer, 0, items[n].text, items[n].is_spaced);
    return written(&buffer, 0);
}

/* The end of the items with the same emphasis as the one at `from`. */
static uint32_t same_marks_end(const Items *items, uint32_t from)
{
    uint32_t end = from + 1;
    while (end < items->count && items->at[end].emphasis == items->at[from].emphasis)
        end++;
    return end;
}

/* Texts with `*` where CommonMark recognizes it; never two kinds of emphasis side by side. */
static void put_marked(Buffer *buffer, InlineRun *run, const Items *items)
{
    Items *groups = &run->groups;
    groups->count = 0;
    for (uint32_t at = 0, end; at < items->count; at = end) {
        end = same_marks_end(items, at);
        Text text = join_items(run->arena, items->at + at, end - at);
        ADD(run->arena, *groups, ((Item){text, items->at[at].emphasis, items->at[at].is_spaced}));
    }
    uint32_t from = buffer->count;
    uint8_t last = 0; /* last byte of the previous group */
    bool is_closed = false;
    for (uint32_t n = 0; n < groups->count; n++) {
        Item one = groups->at[n];
        Item next = n + 1 < groups->count ? groups->at[n + 1] : (Item){{NULL, 0}, 0, true};
        uint8_t before = one.is_spaced ? 0 : last, after = next.is_spaced || next.text.size == 0 ? 0 : next.text.at[0];
        is_closed = one.emphasis > 0 && one.text.size && (!is_closed || before == 0) &&
                    can_emphasize(before, one.text, after);
        last = is_closed ? '*' : one.text.size ? one.text.at[one.text.size - 1] : 0;
        if (!is_closed) {
            put_joined(buffer, from, one.text, one.is_spaced);
            continue;
        }
        if (buffer->count > from && one.is_spaced)
            put_char(buffer, ' ');
        put_times(buffer, '*', one.emphasis);
        put_text(buffer, one.text);
        put_times(buffer, '*', one.emphasis);
    }
}

/* Merge adjacent pieces of the same style. */
static void merge(InlineRun *run, Span line)
{
    run->merged.count = 0;
    for (uint32_t at = line.first, end; at < line.end; at = end) {
        Piece piece = run->pieces.at[at];
        run->parts.count = 0;
        for (end = at; end < line.end && is_same_style(run->pieces.at[end].style, piece.style); end++)
            ADD(run->arena, run->parts, ((Item){run->pieces.at[end].text, 0, run->pieces.at[end].is_spaced}));
        piece.text = join_items(run->arena, run->parts.at, run->parts.count);
        ADD(run->arena, run->merged, piece);
    }
}

/* The parts of a link as one item. */
static Item linked_item(InlineRun *run, Text link)
{
    const Items *parts = &run->parts;
    bool is_even = same_marks_end(parts, 0) == parts->count;
    Buffer buffer = {.arena = run->arena};
    put_char(&buffer, '[');
    if (is_even)
        put_text(&buffer, join_items(run->arena, parts->at, parts->count));
    else
        put_marked(&buffer, run, parts);
    put_literal(&buffer, "](");
    put_text(&buffer, link);
    put_char(&buffer, ')');
    return (Item){written(&buffer, 0), is_even ? parts->at[0].emphasis : 0, parts->at[0].is_spaced};
}

static void put_styled_line(Buffer *buffer, InlineRun *run, Span line, uint32_t excluded_emphasis)
{
    merge(run, line);
    run->items.count = 0;
    for (uint32_t at = 0, end; at < run->merged.count; at = end) {
        Text link = run->merged.at[at].style.link;
        run->parts.count = 0;
        for (end = at; end < run->merged.count && is_same(run->merged.at[end].style.link, link); end++) {
            Piece piece = run->merged.at[end];
            Text text = piece.style.is_code ? code_span(run->arena, piece.text) : piece.text;
            uint8_t emphasis = (uint8_t)(piece.style.emphasis & ~excluded_emphasis);
            ADD(run->arena, run->parts, ((Item){text, emphasis, piece.is_spaced}));
        }
        if (link.size) {
            ADD(run->arena, run->items, linked_item(run, link));
            continue;
        }
        for (uint32_t n = 0; n < run->parts.count; n++)
            ADD(run->arena, run->items, run->parts.at[n]);
    }
    put_marked(buffer, run, &run->items);
}

static void put_link_end(Buffer *buffer, Text link)
{
    if (link.size) {
        put_literal(buffer, "](");
        put_text(buffer, link);
        put_char(buffer, ')');
    }
}

/* Pieces with links at most: they skip the emphasis rules. */
static void put_linked_line(Buffer *buffer, const InlineRun *run, Span line)
{
    Text inside = {NULL, 0};
    uint32_t last = buffer->count; /* where the last part begins */
    for (uint32_t at = line.first; at < line.end; at++) {
        const Piece *piece = &run->pieces.at[at];
        bool is_first = at == line.first, is_other = !is_same(piece->style.link, inside);
        if (is_other && inside.size) {
            last = buffer->count;
            put_link_end(buffer, inside);
        }
        if (piece->is_spaced && !is_first)
            put_char(buffer, ' ');
        else if (is_other && piece->style.link.size && !is_first)
            put_before_link(buffer, last);
        if (is_other && piece->style.link.size)
            put_char(buffer, '[');
        inside = piece->style.link;
        last = buffer->count;
        put_text(buffer, piece->text);
    }
    put_link_end(buffer, inside);
}

static void put_line(Buffer *buffer, InlineRun *run, uint32_t number, uint32_t excluded_emphasis)
{
    Span line = {run->lines.at[number], number + 1 < run->lines.count ? run->lines.at[number + 1] : run->pieces.count};
    for (uint32_t at = line.first; at < line.end; at++) {
        if (run->pieces.at[at].style.emphasis || run->pieces.at[at].style.is_code) {
            put_styled_line(buffer, run, line, excluded_emphasis);
            return;
        }
    }
    put_linked_line(buffer, run, line);
}

static Span lines_of(const InlineRun *run, uint32_t paragraph)
{
    const Numbers *firsts = &run->paragraphs;
    return (Span){AT(run->arena, *firsts, paragraph),
                  paragraph + 1 < firsts->count ? firsts->at[paragraph + 1] : run->lines.count};
}

/* As a paragraph. */
void put_paragraph(Buffer *buffer, InlineRun *run, uint32_t paragraph)
{
    Span lines = lines_of(run, paragraph);
    uint32_t begin = buffer->count;
    for (uint32_t line = lines.first; line < lines.end; line++) {
        uint32_t before = buffer->count;
        if (buffer->count > begin)
            put_literal(buffer, "\\\n");
        uint32_t from = buffer->count;
        put_line(buffer, run, line, 0);
        escape_line_start(buffer, from);
        if (buffer->count == from)
            buffer->count = before;
    }
}

/* As the text of a heading or a cell; `excluded_emphasis` are styles to leave out. */
void put_on_one_line(Buffer *buffer, InlineRun *run, uint32_t paragraph, uint32_t excluded_emphasis)
{
    Span lines = lines_of(run, paragraph);
    uint32_t begin = buffer->count;
    for (uint32_t line = lines.first; line < lines.end; line++) {
        uint32_t before = buffer->count;
        if (buffer->count > begin)
            put_char(buffer, ' ');
        uint32_t from = buffer->count;
        put_line(buffer, run, line, excluded_emphasis);
        if (buffer->count == from)
            buffer->count = before;
    }
}
