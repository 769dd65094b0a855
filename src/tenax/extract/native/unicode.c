/* Single characters, white space, and whole texts: see unicode.h. */
#define _GNU_SOURCE /* memmem */
#include "unicode.h"

#include "utf8.h"

/* White space of one byte, and the first bytes of longer white space. */
enum { WHITE = 1, MAY_BE_WHITE = 2 };
static const uint8_t WHITENESS[256] = {
    ['\t'] = WHITE, ['\n'] = WHITE, [0x0B] = WHITE, [0x0C] = WHITE, ['\r'] = WHITE,
    [0x1C] = WHITE, [0x1D] = WHITE, [0x1E] = WHITE, [0x1F] = WHITE, [' '] = WHITE,
    [0xC2] = MAY_BE_WHITE, [0xE1] = MAY_BE_WHITE, [0xE2] = MAY_BE_WHITE, [0xE3] = MAY_BE_WHITE,
};

/* How many of eight bytes do not begin a character: 10xxxxxx has the high bit without the next. */
static uint32_t tails_among(uint64_t bytes)
{
    uint64_t found = ((bytes & EACH_HIGH_BIT) >> 7) & ~(bytes >> 6);
    return (uint32_t)((found * EACH_LOW_BIT) >> 56);
}

/* A character of two bytes or more. The first byte alone does not exclude overlong forms and surrogates. */
static uint32_t longer_character(const uint8_t *at, size_t available, uint32_t *size)
{
    uint32_t first = at[0];
    if (first >= 0xC2 && first < 0xE0) {
        if (available >= 2 && is_tail(at[1])) {
            *size = 2;
            return (first & 0x1F) << 6 | (at[1] & 0x3Fu);
        }
    } else if (first >= 0xE0 && first < 0xF0) {
        if (available >= 3 && is_tail(at[1]) && is_tail(at[2])) {
            uint32_t found = (first & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
            if (found >= 0x800 && (found < 0xD800 || found >= 0xE000)) {
                *size = 3;
                return found;
            }
        }
    } else if (first >= 0xF0 && first < 0xF5) {
        if (available >= 4 && is_tail(at[1]) && is_tail(at[2]) && is_tail(at[3])) {
            uint32_t found = (first & 0x07) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
            if (found >= 0x10000 && found <= 0x10FFFF) {
                *size = 4;
                return found;
            }
        }
    }
    *size = 1;
    return NO_CHARACTER;
}

uint32_t character_at(const uint8_t *at, const uint8_t *end, uint32_t *size)
{
    if (*at < 0x80) {
        *size = 1;
        return *at;
    }
    return longer_character(at, (size_t)(end - at), size);
}

/* Whether three bytes are one of U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F and U+3000. */
static bool is_long_space(const uint8_t *at)
{
    switch (at[0]) {
    case 0xE1:
        return at[1] == 0x9A && at[2] == 0x80;
    case 0xE2:
        if (at[1] == 0x80)
            return (at[2] >= 0x80 && at[2] <= 0x8A) || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF;
        return at[1] == 0x81 && at[2] == 0x9F;
    case 0xE3:
        return at[1] == 0x80 && at[2] == 0x80;
    default:
        return false;
    }
}

uint32_t any_space_at(const uint8_t *at, const uint8_t *end)
{
    if (at >= end || WHITENESS[*at] == 0)
        return 0;
    if (WHITENESS[*at] == WHITE)
        return 1;
    if (*at == 0xC2)
        return end - at >= 2 && (at[1] == 0x85 || at[1] == 0xA0) ? 2 : 0;
    return end - at >= 3 && is_long_space(at) ? 3 : 0;
}

uint32_t space_before(const uint8_t *begin, const uint8_t *end)
{
    if (begin >= end)
        return 0;
    if (end[-1] < 0x80)
        return WHITENESS[end[-1]];
    if (end - begin >= 2 && end[-2] == 0xC2)
        return end[-1] == 0x85 || end[-1] == 0xA0 ? 2 : 0;
    return end - begin >= 3 && is_long_space(end - 3) ? 3 : 0;
}

uint32_t count_characters(Text text)
{
    uint32_t tails = 0;
    for (uint32_t n = 0; n < text.size;) {
        uint8_t some = 0; /* few enough to count in a byte, so that the compiler vectorizes the loop */
        uint32_t end = text.size - n > UINT8_MAX ? n + UINT8_MAX : text.size;
        for (; n < end; n++)
            some += is_tail(text.at[n]);
        tails += some;
    }
    return text.size - tails;
}

/* Pages are indented: most white space is long sequences of these. */
static bool is_indent(const uint8_t *at)
{
    Sixteen bytes = sixteen_bytes(at);
    return !is_any((Sixteen)(bytes != ' ') & (Sixteen)(bytes != '\t') & (Sixteen)(bytes != '\n'));
}

Text without_spaces_before(Text text)
{
    const uint8_t *at = text.at, *end = text.at + text.size;
    while (end - at >= AT_ONCE && is_indent(at))
        at += AT_ONCE;
    while (at < end) {
        uint32_t size = WHITENESS[*at] == WHITE ? 1 : any_space_at(at, end);
        if (size == 0)
            break;
        at += size;
    }
    return (Text){at, (uint32_t)(end - at)};
}

Text without_spaces_behind(Text text)
{
    const uint8_t *end = text.at + text.size;
    while (end - text.at >= AT_ONCE && is_indent(end - AT_ONCE))
        end -= AT_ONCE;
    while (end > text.at) {
        uint32_t size = WHITENESS[end[-1]] == WHITE ? 1 : end[-1] >= 0x80 ? space_before(text.at, end) : 0;
        if (size == 0)
            break;
        end -= size;
    }
    return (Text){text.at, (uint32_t)(end - text.at)};
}

/* Whether all white space is single spaces between words. */
static bool is_one_line(Text text)
{
    const uint8_t *at = text.at, *end = text.at + text.size;
    bool is_behind_space = true;
    for (; at < end; at++) {
        if (*at == ' ') {
            if (is_behind_space)
                return false;
            is_behind_space = true;
            continue;
        }
        if (WHITENESS[*at] != 0 && space_at(at, end) > 0)
            return false;
        is_behind_space = false;
    }
    return text.size == 0 || !is_behind_space;
}

bool next_split_word(Text *rest, Text *word)
{
    const uint8_t *at = strip_left(*rest).at, *end = rest->at + rest->size, *begin = at;
    while (at < end && (WHITENESS[*at] == 0 || space_at(at, end) == 0))
        at++;
    *word = (Text){begin, (uint32_t)(at - begin)};
    *rest = (Text){at, (uint32_t)(end - at)};
    return word->size > 0;
}

Text collapse_spaces(Arena *arena, Text text)
{
    if (is_one_line(text))
        return text;
    uint8_t *made = arena_alloc(arena, text.size), *out = made;
    for (Text word; next_split_word(&text, &word); out += word.size) {
        if (out > made)
            *out++ = ' ';
        memcpy(out, word.at, word.size);
    }
    return (Text){made, (uint32_t)(out - made)};
}

Text first_characters(Text text, uint32_t count)
{
    /* No character is shorter than a byte. */
    if (text.size <= count)
        return text;
    uint32_t at = 0;
    for (; count >= 8 && text.size - at >= 8; at += 8)
        count -= 8 - tails_among(eight_bytes(text.at + at));
    for (; at < text.size; at++)
        if (!is_tail(text.at[at]) && count-- == 0)
            break;
    return (Text){text.at, at};
}

bool is_ascii(Text text)
{
    uint32_t at = 0;
    for (; text.size - at >= 8; at += 8)
        if ((eight_bytes(text.at + at) & EACH_HIGH_BIT) != 0)
            return false;
    for (; at < text.size; at++)
        if (text.at[at] >= 0x80)
            return false;
    return true;
}

uint32_t find(Text text, Text needle, uint32_t from)
{
    if (from > text.size || needle.size > text.size - from)
        return UINT32_MAX;
    if (needle.size == 0)
        return from;
    const uint8_t *found = memmem(text.at + from, text.size - from, needle.at, needle.size);
    return found == NULL ? UINT32_MAX : (uint32_t)(found - text.at);
}
