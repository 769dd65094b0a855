/* Escapes text for Markdown, so that CommonMark shows it as the page does: `markdown.escape`. */
#include "markdown.h"
#include "unicode.h"

#define MIN_BUFFER_BYTES 64

void buffer_grow(Buffer *buffer, uint32_t size)
{
    uint64_t wanted = (uint64_t)buffer->count + size, doubled = (uint64_t)buffer->capacity * 2;
    wanted = wanted > doubled ? wanted : doubled;
    wanted = wanted > MIN_BUFFER_BYTES ? wanted : MIN_BUFFER_BYTES;
    if (wanted > UINT32_MAX / 2)
        page_fail(buffer->arena, "too much Markdown");
    buffer->at = grow_memory(buffer->arena, buffer->at, buffer->count, buffer->capacity, wanted);
    buffer->capacity = (uint32_t)wanted;
}

void put_times(Buffer *buffer, char character, uint32_t times)
{
    if (times > buffer->capacity - buffer->count)
        buffer_grow(buffer, times);
    if (times)
        memset(buffer->at + buffer->count, character, times);
    buffer->count += times;
}

void insert_char(Buffer *buffer, uint32_t place, char character)
{
    put_char(buffer, character);
    if (place + 1 < buffer->count) {
        memmove(buffer->at + place + 1, buffer->at + place, buffer->count - place - 1);
        buffer->at[place] = (uint8_t)character;
    }
}

/* What a byte may mean in Markdown. */
enum { NO_MARK, MARK, TAG_MARK, ENTITY_MARK, UNDERSCORE, CONTROL, MAY_BE_CONTROL };
static const uint8_t MARKS[256] = {
    ['\\'] = MARK, ['`'] = MARK, ['*'] = MARK, ['['] = MARK, [']'] = MARK, ['~'] = MARK,
    ['<'] = TAG_MARK, ['&'] = ENTITY_MARK, ['_'] = UNDERSCORE,
    [0x00] = CONTROL, [0x01] = CONTROL, [0x02] = CONTROL, [0x03] = CONTROL, [0x04] = CONTROL, [0x05] = CONTROL,
    [0x06] = CONTROL, [0x07] = CONTROL, [0x08] = CONTROL, [0x0e] = CONTROL, [0x0f] = CONTROL, [0x10] = CONTROL,
    [0x11] = CONTROL, [0x12] = CONTROL, [0x13] = CONTROL, [0x14] = CONTROL, [0x15] = CONTROL, [0x16] = CONTROL,
    [0x17] = CONTROL, [0x18] = CONTROL, [0x19] = CONTROL, [0x1a] = CONTROL, [0x1b] = CONTROL, [0x7f] = CONTROL,
    [0xc2] = MAY_BE_CONTROL, /* U+009B */
};

static bool is_letter(uint8_t byte) { return (uint8_t)((byte | 0x20) - 'a') < 26; }

static bool is_alnum_at(const uint8_t *at, const uint8_t *end)
{
    uint32_t size;
    return at < end && is_alnum(character_at(at, end, &size));
}

static bool is_alnum_before(const uint8_t *begin, const uint8_t *end)
{
    if (begin >= end)
        return false;
    const uint8_t *at = end - 1;
    while (at > begin && end - at < 4 && (*at & 0xc0) == 0x80)
        at--;
    return is_alnum_at(at, end);
}

/* Whether a possible special character is one. A tag or an entity may continue in the next text. */
static bool is_mark(const uint8_t *begin, const uint8_t *at, const uint8_t *end)
{
    bool is_last = at + 1 == end;
    switch (MARKS[*at]) {
    case MARK:
        return true;
    case TAG_MARK:
        return is_last || is_letter(at[1]) || at[1] == '/' || at[1] == '!' || at[1] == '?';
    case ENTITY_MARK:
        return is_last || is_letter(at[1]) || at[1] == '#';
    case UNDERSCORE:
        return !is_alnum_before(begin, at) || !is_alnum_at(at + 1, end);
    default:
        return false;
    }
}

/* The first byte that may be special; most texts have none, so this must be fast. */
static const uint8_t *first_mark(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8 && !(MARKS[at[0]] | MARKS[at[1]] | MARKS[at[2]] | MARKS[at[3]] | MARKS[at[4]] | MARKS[at[5]] |
                              MARKS[at[6]] | MARKS[at[7]]))
        at += 8;
    while (at < end && MARKS[*at] == NO_MARK)
        at++;
    return at;
}

Text escape_text(Arena *arena, Text text)
{
    const uint8_t *end = text.at + text.size;
    uint32_t escapes = 0;
    bool has_controls = false;
    for (const uint8_t *at = first_mark(text.at, end); at < end; at = first_mark(at + 1, end)) {
        escapes++;
        if (MARKS[*at] == CONTROL || (*at == 0xc2 && at + 1 < end && at[1] == 0x9b))
            has_controls = true;
    }
    if (escapes == 0)
        return text;
    if (has_controls) {
        text = collapse_spaces(arena, strip_controls(arena, text));
        end = text.at + text.size;
    }
    uint8_t *made = arena_alloc(arena, (size_t)text.size + escapes), *to = made;
    for (const uint8_t *at = text.at; at < end; at++) {
        if (MARKS[*at] != NO_MARK && is_mark(text.at, at, end))
            *to++ = '\\';
        *to++ = *at;
    }
    return (Text){made, (uint32_t)(to - made)};
}

/* Whether a line ends at a position, or continues with white space. */
static bool is_space_or_end(Text line, uint32_t at)
{
    return at >= line.size || space_at(line.at + at, line.at + line.size) > 0;
}

static bool is_rule_of_table(Text line)
{
    const uint8_t *at = line.at, *end = line.at + line.size;
    while (at < end) {
        uint32_t size = *at == '-' || *at == ':' || *at == '|' ? 1 : space_at(at, end);
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

static uint32_t equal_bytes(Text line)
{
    uint32_t at = 0;
    while (at < line.size && line.at[at] == line.at[0])
        at++;
    return at;
}

/* The end of a number that would begin an item; NOWHERE if there is none. */
static uint32_t number_end(Text line)
{
    const uint8_t *end = line.at + line.size;
    uint32_t at = 0, digits = 0, size;
    while (at < line.size && is_decimal(character_at(line.at + at, end, &size))) {
        if (++digits > ESCAPE_MAX_ITEM_DIGITS)
            return NOWHERE;
        at += size;
    }
    bool is_item = at < line.size && (line.at[at] == '.' || line.at[at] == ')') && is_space_or_end(line, at + 1);
    return is_item ? at : NOWHERE;
}

/* Where an escape keeps a line from beginning a heading, quote, item, rule or table; NOWHERE if it begins none. */
static uint32_t escape_position(Text line)
{
    uint32_t equal;
    switch (line.size ? line.at[0] : 0) {
    case '#':
        equal = equal_bytes(line);
        return equal <= ESCAPE_MAX_HEADING_HASHES && is_space_or_end(line, equal) ? 0 : NOWHERE;
    case '>':
        return 0;
    case '+':
        return is_space_or_end(line, 1) ? 0 : NOWHERE;
    case '-':
        return is_space_or_end(line, 1) || is_rule_of_table(line) ? 0 : NOWHERE;
    case ':': case '|':
        return is_rule_of_table(line) ? 0 : NOWHERE;
    case '=':
        equal = equal_bytes(line);
        return is_blank((Text){line.at + equal, line.size - equal}) ? 0 : NOWHERE;
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return number_end(line);
    default:
        return NOWHERE;
    }
}

void escape_line_start(Buffer *buffer, uint32_t from)
{
    uint32_t place = escape_position(written(buffer, from));
    if (place != NOWHERE)
        insert_char(buffer, from + place, '\\');
}

void escape_closing_hashes(Buffer *buffer, uint32_t from)
{
    uint32_t hashes = buffer->count;
    while (hashes > from && buffer->at[hashes - 1] == '#')
        hashes--;
    if (hashes < buffer->count && (hashes == from || space_before(buffer->at + from, buffer->at + hashes) > 0))
        insert_char(buffer, hashes, '\\');
}

static uint32_t longest_ticks(Text text)
{
    uint32_t longest = 0, ticks = 0;
    for (uint32_t at = 0; at < text.size; at++) {
        ticks = text.at[at] == '`' ? ticks + 1 : 0;
        longest = ticks > longest ? ticks : longest;
    }
    return longest;
}

Text code_span(Arena *arena, Text text)
{
    text = collapse_spaces(arena, strip_controls(arena, text));
    if (text.size == 0)
        return text;
    uint32_t fence = longest_ticks(text) + 1;
    bool is_padded = text.at[0] == '`' || text.at[text.size - 1] == '`';
    Buffer buffer = {.arena = arena};
    put_times(&buffer, '`', fence);
    put_times(&buffer, ' ', is_padded);
    put_text(&buffer, text);
    put_times(&buffer, ' ', is_padded);
    put_times(&buffer, '`', fence);
    return written(&buffer, 0);
}

void put_fenced(Buffer *buffer, Text code, Text language)
{
    uint32_t ticks = longest_ticks(code) + 1, fence = ticks > ESCAPE_MIN_FENCE ? ticks : ESCAPE_MIN_FENCE;
    put_times(buffer, '`', fence);
    put_text(buffer, language);
    put_char(buffer, '\n');
    put_text(buffer, code);
    put_char(buffer, '\n');
    put_times(buffer, '`', fence);
}

static bool is_edge(uint8_t byte)
{
    return byte == 0 || byte == ' ' || (byte > ' ' && byte < 0x7f && !is_letter(byte) && (uint8_t)(byte - '0') >= 10);
}

bool can_emphasize(uint8_t before, Text text, uint8_t after)
{
    const uint8_t *end = text.at + text.size;
    return (is_edge(before) || is_alnum_at(text.at, end)) && (is_edge(after) || is_alnum_before(text.at, end));
}
