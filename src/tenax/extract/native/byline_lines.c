/* Lines of the visible text that may contain a date or a byline: `metadata.authors`. */
#include "page.h"
#include "unicode.h"

#define POSITIONS_AT_ONCE 64            /* positions compared at once */

static Text line_at(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return (Text){at, (uint32_t)((stop != NULL ? stop : end) - at)};
}

static void add_line(Arena *arena, Texts *lines, Text line)
{
    bool is_long = line.size > AUTHORS_MAX_LINE_CHARS && count_characters(line) > AUTHORS_MAX_LINE_CHARS;
    ADD(arena, *lines, is_long ? first_characters(line, AUTHORS_CUT_LINE_CHARS) : line);
}

/* The lines that begin within the character limit after the title. */
static void add_after(Arena *arena, Texts *lines, Text rest)
{
    rest = first_characters(rest, AUTHORS_NEARBY_CHARS);
    const uint8_t *at = rest.at, *end = rest.at + rest.size;
    for (uint32_t n = 0; n < AUTHORS_LINES_AFTER_TITLE; n++) {
        at += line_at(at, end).size;
        if (at == end)
            return;
        at++;
        add_line(arena, lines, line_at(at, end));
    }
}

/* The lines that end within the character limit before the title, the nearest first. */
static void add_before(Arena *arena, Texts *lines, Text before)
{
    const uint8_t *begin = before.at + before.size, *end = begin;
    for (uint32_t n = 0; n < AUTHORS_NEARBY_CHARS && begin > before.at; n++)
        do
            begin--;
        while (begin > before.at && (*begin & 0xC0) == 0x80);
    for (uint32_t n = 0; n <= AUTHORS_LINES_BEFORE_TITLE; n++) {
        const uint8_t *at = end;
        while (at > begin && at[-1] != '\n')
            at--;
        /* The first is the line of the title. */
        if (n > 0)
            add_line(arena, lines, (Text){at, (uint32_t)(end - at)});
        if (at == begin)
            return;
        end = at - 1;
    }
}

static void pack_lines(Pack *pack, const Texts *lines)
{
    pack_array(pack, lines->count);
    for (uint32_t n = 0; n < lines->count; n++)
        pack_text(pack, lines->at[n]);
}

static uint8_t lower_ascii(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

static bool is_title(const uint8_t *at, Text title)
{
    for (uint32_t n = 0; n < title.size; n++)
        if (lower_ascii(at[n]) != title.at[n])
            return false;
    return true;
}

static uint8_t min_byte(uint8_t one, uint8_t other) { return one < other ? one : other; }

/* Whether the title may begin at one of several positions, judged by three of its bytes. The compiler vectorizes this
 * loop. */
static bool may_begin_in_block(const uint8_t *at, Text title)
{
    const uint8_t *middle = at + title.size / 2, *last = at + title.size - 1;
    uint8_t one = title.at[0], two = title.at[title.size / 2], three = title.at[title.size - 1], difference = 0xFF;
    for (size_t n = 0; n < POSITIONS_AT_ONCE; n++)
        difference = min_byte(difference, ((at[n] ^ one) | (middle[n] ^ two) | (last[n] ^ three)) & 0xDF);
    return difference == 0;
}

/* Same as `find`, for an ASCII title, ignoring case. */
static uint32_t find_in_either_case(Text text, Text title, uint32_t from)
{
    if (title.size > text.size || from > text.size - title.size)
        return UINT32_MAX;
    uint32_t at = from, end = text.size - title.size + 1;
    while (at < end) {
        uint32_t stop = end - at > POSITIONS_AT_ONCE ? at + POSITIONS_AT_ONCE : end;
        if (stop - at == POSITIONS_AT_ONCE && !may_begin_in_block(text.at + at, title)) {
            at = stop;
            continue;
        }
        for (; at < stop; at++)
            if (is_title(text.at + at, title))
                return at;
    }
    return UINT32_MAX;
}

/* Whether a text contains these bytes; the first of them must be rare. */
static bool contains(Text text, const char *bytes)
{
    const uint8_t *at = text.at, *end = text.at + text.size;
    size_t size = strlen(bytes);
    for (; at < end && (at = memchr(at, bytes[0], (size_t)(end - at))) != NULL; at++)
        if ((size_t)(end - at) >= size && memcmp(at, bytes, size) == 0)
            return true;
    return false;
}

/* Whether it contains one of visible.ASCII_WHEN_LOWER. */
static bool contains_ascii_when_lower(Text text)
{
    return contains(text, "\xC4\xB0") || contains(text, "\xE2\x84\xAA");
}

static void add_around(Arena *arena, Texts *lines, Text text, uint32_t position)
{
    add_after(arena, lines, (Text){text.at + position, text.size - position});
    add_before(arena, lines, (Text){text.at, position});
}

/* With an ASCII title, the text need not be lowered, which takes longest. */
static void add_around_ascii(Arena *arena, Texts *lines, Text text, Text title)
{
    uint32_t at = find_in_either_case(text, title, 0);
    for (uint32_t n = 0; n < AUTHORS_MAX_TITLE_MATCHES && at != UINT32_MAX; n++) {
        add_around(arena, lines, text, at);
        at = find_in_either_case(text, title, at + 1);
    }
}

static void add_around_any(Arena *arena, Texts *lines, Text text, Text title)
{
    Text lower = lowered(arena, text);
    uint32_t at = find(lower, title, 0);
    /* As in Python: the position in the text is the number of characters before it in lower case. */
    for (uint32_t n = 0; n < AUTHORS_MAX_TITLE_MATCHES && at != UINT32_MAX; n++, at = find(lower, title, at + 1))
        add_around(arena, lines, text, first_characters(text, count_characters((Text){lower.at, at})).size);
}

void pack_byline_lines(Page *page, Text title, Pack *pack)
{
    Text text = first_characters(page->text, AUTHORS_MAX_TEXT_CHARS);
    Texts lines = {0};
    if (title.size > 0 && is_ascii(title) && !contains_ascii_when_lower(text))
        add_around_ascii(&page->arena, &lines, text, title);
    else if (title.size > 0)
        add_around_any(&page->arena, &lines, text, title);
    pack_lines(pack, &lines);
}

static bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static bool is_century(const uint8_t *at) { return (at[0] == '1' && at[1] == '9') || (at[0] == '2' && at[1] == '0'); }

/* Whether a century begins at one of several positions, in the same way. */
static bool is_century_in_block(const uint8_t *at)
{
    const uint8_t *next = at + 1;
    uint8_t difference = 0xFF;
    for (size_t n = 0; n < POSITIONS_AT_ONCE; n++)
        difference = min_byte(difference, min_byte((at[n] ^ '1') | (next[n] ^ '9'), (at[n] ^ '2') | (next[n] ^ '0')));
    return difference == 0;
}

static const uint8_t *find_century(const uint8_t *at, const uint8_t *end)
{
    while (end - at > POSITIONS_AT_ONCE && !is_century_in_block(at))
        at += POSITIONS_AT_ONCE;
    for (; end - at > 1; at++)
        if (is_century(at))
            return at;
    return NULL;
}

/* Whether a year can begin after this byte, or end before it; certain, because bytes beyond ASCII are not
   considered. */
static bool is_edge(uint8_t byte) { return byte < 0x80 && !is_word(byte); }

/* The minimum number of years that authors._YEAR finds in a line. */
static uint32_t count_certain_years(Text line)
{
    uint32_t years = 0;
    for (uint32_t at = 0; at + 4 <= line.size; at++) {
        const uint8_t *year = line.at + at;
        years += is_century(year) && is_digit(year[2]) && is_digit(year[3]) && (at == 0 || is_edge(year[-1])) &&
                 (at + 4 == line.size || is_edge(year[4]));
    }
    return years;
}

/* The line around a position, or the part of it from `begin` on. */
static Text line_around(const uint8_t *begin, const uint8_t *position, const uint8_t *end)
{
    const uint8_t *at = position;
    while (at > begin && at[-1] != '\n')
        at--;
    return line_at(at, end);
}

void pack_lines_with_years(Page *page, Pack *pack)
{
    Text text = first_characters(page->text, AUTHORS_MAX_TEXT_CHARS);
    const uint8_t *at = text.at, *end = text.at + text.size;
    Texts lines = {0};
    uint32_t years = 0;
    for (; years <= AUTHORS_MAX_LONE_DATES && at < end && (at = find_century(at, end)) != NULL; at++) {
        Text line = line_around(text.at, at, end);
        at = line.at + line.size;
        if (count_characters(line) > AUTHORS_MAX_DATE_LINE_CHARS)
            continue;
        ADD(&page->arena, lines, line);
        years += count_certain_years(line);
    }
    /* With more than a few, Python returns nothing. */
    lines.count = years > AUTHORS_MAX_LONE_DATES ? 0 : lines.count;
    pack_lines(pack, &lines);
}
