/* The visible text of a page, one line per block, with its runs marked or without marks: `text.visible`. */
#include "text.h"

#include "unicode.h"
#include "utf8.h"

/* In page text: tabs and line breaks are handled separately. */
static bool is_control(uint8_t byte)
{
    return byte < 0x09 || (byte > 0x0d && byte < 0x20) || byte == 0x7f;
}

static bool is_break(Text fragment)
{
    return fragment.size == 1 && fragment.at[0] == TREE_BREAK;
}

/* The text while it is built from fragments, line by line. Each of its bytes corresponds to one of a fragment or a
 * run, so it is never longer: a line begins with a line break for the break before it, and a paragraph mark for that
 * of an empty line. */
typedef struct {
    uint8_t *made, *to;
    bool is_begun;          /* the line is not empty */
    bool is_spaced;         /* and ends with a space so far */
    bool is_after_empty;
    bool marks_paragraphs;
    Numbers marks;          /* positions of run and paragraph marks */
} Lines;

/* Replacement bytes: a space for white space that browsers collapse, and another control character for a page's own
 * marks. */
static const uint8_t INSTEAD[256] = {
    [VISIBLE_RUN_MARK] = 3, [VISIBLE_PARAGRAPH_MARK] = 3, ['\t'] = ' ', ['\n'] = ' ', [0x0b] = ' ', [0x0c] = ' ',
    ['\r'] = ' ', [0x1c] = ' ', [0x1d] = ' ', [0x1e] = ' ', [0x1f] = ' ',
};

/* Whether sixteen bytes need no change: words with single spaces. Reads one more. */
static bool is_collapsed(const uint8_t *at)
{
    Sixteen bytes = sixteen_bytes(at), after = sixteen_bytes(at + 1);
    return !is_any((Sixteen)(bytes < ' ') | (Sixteen)(bytes == 0xc2) |
                   ((Sixteen)(bytes == ' ') & (Sixteen)(after == ' ')));
}

/* A text with white space collapsed; of white space that browsers do not collapse, only the common kinds. Writes no
 * more than it reads. */
static void add_collapsed(Lines *lines, Text text)
{
    const uint8_t *at = text.at, *end = text.at + text.size;
    uint8_t *to = lines->to;
    bool is_spaced = lines->is_spaced;
    while (at < end) {
        while (end - at > AT_ONCE && !(is_spaced && *at == ' ') && is_collapsed(at)) {
            memcpy(to, at, AT_ONCE);
            to += AT_ONCE;
            at += AT_ONCE;
            is_spaced = at[-1] == ' ';
        }
        for (const uint8_t *stop = end - at > AT_ONCE ? at + AT_ONCE : end; at < stop; at++) {
            uint8_t byte = INSTEAD[*at] ? INSTEAD[*at] : *at;
            if (byte == 0xc2 && end - at > 1 && at[1] == 0xa0) {
                byte = ' ';
                at++;
            }
            *to = byte;
            to += byte != ' ' || !is_spaced;
            is_spaced = byte == ' ';
        }
    }
    lines->to = to;
    lines->is_spaced = is_spaced;
}

static void add_mark(Arena *arena, Lines *lines, uint8_t mark)
{
    ADD(arena, lines->marks, (uint32_t)(lines->to - lines->made));
    *lines->to++ = mark;
}

static void begin_line(Lines *lines)
{
    if (lines->to > lines->made)
        *lines->to++ = '\n';
    lines->is_begun = true;
    lines->is_spaced = false;
}

static void end_line(Lines *lines)
{
    lines->to -= lines->is_spaced;
    lines->to = lines->made + strip_right((Text){lines->made, (uint32_t)(lines->to - lines->made)}).size;
    lines->is_after_empty = !lines->is_begun;
    lines->is_begun = lines->is_spaced = false;
}

static void begin_run(Arena *arena, Lines *lines)
{
    if (!lines->is_begun)
        begin_line(lines);
    add_mark(arena, lines, VISIBLE_RUN_MARK);
    lines->is_spaced = false;
}

static void add_fragment(Arena *arena, Lines *lines, Text fragment)
{
    if (!lines->is_begun) {
        fragment = strip_left(fragment);
        if (fragment.size == 0)
            return;
        begin_line(lines);
        if (lines->is_after_empty && lines->marks_paragraphs)
            add_mark(arena, lines, VISIBLE_PARAGRAPH_MARK);
    }
    add_collapsed(lines, fragment);
}

/* All fragments as lines; with a mark before each run or without any. */
static Lines lines_of(Arena *arena, const Walk *walk, bool is_marked)
{
    uint32_t runs = is_marked ? walk->run_starts.count : 0, run = 0;
    size_t size = runs;
    for (uint32_t n = 0; n < walk->fragments.count; n++)
        size += fragment_text(walk, n).size;
    if (size > UINT32_MAX / 2)
        page_fail(arena, "too much text");
    uint8_t *made = arena_alloc(arena, size + 1);
    Lines lines = {.made = made, .to = made, .marks_paragraphs = is_marked && walk->line_breaks > 1};
    for (uint32_t n = 0; n < walk->fragments.count; n++) {
        Text one = fragment_text(walk, n);
        if (is_break(one)) {
            end_line(&lines);
            continue;
        }
        if (run < runs && walk->run_starts.at[run] == n) {
            run++;
            begin_run(arena, &lines);
            one = strip_left(one);
        }
        add_fragment(arena, &lines, one);
    }
    end_line(&lines);
    return lines;
}

Text text_with_marks(Arena *arena, const Walk *walk, Numbers *marks)
{
    Lines lines = lines_of(arena, walk, true);
    *marks = lines.marks;
    return (Text){lines.made, (uint32_t)(lines.to - lines.made)};
}

Text visible_text(Arena *arena, const Walk *walk)
{
    Lines lines = lines_of(arena, walk, false);
    return strip_controls(arena, (Text){lines.made, (uint32_t)(lines.to - lines.made)});
}

/* Whether none of sixteen bytes is a control, nor the first of U+009B. */
static bool is_inert(const uint8_t *at)
{
    Sixteen bytes = sixteen_bytes(at);
    return !is_any((Sixteen)(bytes < 0x09) | ((Sixteen)(bytes > 0x0d) & (Sixteen)(bytes < 0x20)) |
                   (Sixteen)(bytes == 0x7f) | (Sixteen)(bytes == 0xc2));
}

/* The number of bytes before the first to remove: a control, or the two of U+009B. */
static size_t inert_bytes(const uint8_t *begin, const uint8_t *end)
{
    const uint8_t *at = begin;
    while (at < end) {
        while (end - at >= AT_ONCE && is_inert(at))
            at += AT_ONCE;
        for (const uint8_t *stop = end - at > AT_ONCE ? at + AT_ONCE : end; at < stop; at++)
            if (is_control(*at) || (*at == 0xc2 && end - at > 1 && at[1] == 0x9b))
                return (size_t)(at - begin);
    }
    return (size_t)(at - begin);
}

Text strip_controls(Arena *arena, Text text)
{
    const uint8_t *at = text.at, *end = text.at + text.size;
    if (text.size == 0 || inert_bytes(at, end) == text.size)
        return text;
    uint8_t *made = arena_alloc(arena, text.size), *to = made;
    while (at < end) {
        size_t size = inert_bytes(at, end);
        memcpy(to, at, size);
        to += size;
        at += size;
        if (at < end)
            at += *at == 0xc2 ? 2 : 1;
    }
    return (Text){made, (uint32_t)(to - made)};
}

Text box_text(Arena *arena, const Walk *walk, uint32_t box)
{
    uint32_t first = AT(arena, walk->box_starts, box), end = AT(arena, walk->box_ends, box);
    if (first >= end)
        return (Text){EMPTY, 0};
    uint32_t start = AT(arena, walk->run_starts, first);
    uint32_t stop = end < walk->run_starts.count ? walk->run_starts.at[end] : walk->fragments.count;
    return collapse_spaces(arena, spaced(arena, walk, start, stop));
}

Text spaced(Arena *arena, const Walk *walk, uint32_t start, uint32_t stop)
{
    size_t size = 0;
    for (uint32_t n = start; n < stop; n++)
        size += fragment_at(arena, walk, n).size;
    uint8_t *made = arena_alloc(arena, size + 1), *to = made;
    for (uint32_t n = start; n < stop; n++) {
        Text one = fragment_text(walk, n);
        if (is_break(one))
            *to++ = ' ';
        else if (one.size) {
            memcpy(to, one.at, one.size);
            to += one.size;
        }
    }
    return (Text){made, (uint32_t)(to - made)};
}
