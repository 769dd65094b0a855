/* Letters, digits and lower case by the Unicode tables: see unicode.h. */
#include "unicode.h"

#include "unicode_data.h"
#include "utf8.h"

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

static bool is_among(const Range *ranges, size_t count, uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= character;
}

/* Latin, Greek and Cyrillic are the most frequent: their table entries are cached when the library is loaded. */
#define CACHED_CHARACTERS 0x530
static uint16_t cached_lower[CACHED_CHARACTERS];
static bool cached_alnum[CACHED_CHARACTERS];

static bool is_ascii_letter(uint32_t character) { return (character | 0x20) - 'a' < 26; }

const char *unicode_version(void) { return UNICODE_VERSION; }

bool is_alnum(uint32_t character)
{
    if (character < CACHED_CHARACTERS)
        return cached_alnum[character];
    return is_among(ALNUM, COUNT_OF(ALNUM), character);
}

bool is_decimal(uint32_t character)
{
    if (character < CACHED_CHARACTERS)
        return character - '0' < 10;
    return is_among(DECIMAL, COUNT_OF(DECIMAL), character);
}

static uint32_t looked_up_lower(uint32_t character)
{
    size_t low = 0, high = COUNT_OF(LOWER);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > LOWER[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == COUNT_OF(LOWER) || character < LOWER[low].first)
        return character;
    const Lower *found = &LOWER[low];
    return (character - found->first) % found->step == 0 ? (uint32_t)((int32_t)character + found->shift) : character;
}

/* In lower case; never called for U+0130 and sigma. */
static uint32_t lower_of(uint32_t character)
{
    if (character < CACHED_CHARACTERS)
        return cached_lower[character];
    if (character >= FIRST_WITHOUT_CASE && character <= LAST_WITHOUT_CASE)
        return character;
    return looked_up_lower(character);
}

__attribute__((constructor)) static void look_up_few(void)
{
    for (uint32_t n = 0; n < CACHED_CHARACTERS; n++) {
        bool is_capital = n - 'A' < 26;
        cached_lower[n] = (uint16_t)(n >= 0x80 ? looked_up_lower(n) : is_capital ? n + 0x20 : n);
        cached_alnum[n] = n >= 0x80 ? is_among(ALNUM, COUNT_OF(ALNUM), n) : is_ascii_letter(n) || n - '0' < 10;
    }
}

static bool is_cased(uint32_t character)
{
    return character < 0x80 ? is_ascii_letter(character) : is_among(CASED, COUNT_OF(CASED), character);
}

static bool is_ignored(uint32_t character)
{
    if (character < 0x80)
        return character == '\'' || character == '.' || character == ':' || character == '^' || character == '`';
    return is_among(IGNORED, COUNT_OF(IGNORED), character);
}

/* The character just before `end`; `begin < end`. */
static uint32_t character_before(const uint8_t *begin, const uint8_t *end, uint32_t *size)
{
    const uint8_t *at = end - 1;
    while (at > begin && end - at < 4 && is_tail(*at))
        at--;
    uint32_t found = character_at(at, end, size);
    if (*size == (uint32_t)(end - at))
        return found;
    *size = 1;
    return NO_CHARACTER;
}

/* A sigma that ends a word has its own form. Searches from sigma to sigma, so a text is read at most twice. */
static bool is_last_letter(Text text, const uint8_t *sigma)
{
    uint32_t size, character = 0;
    for (const uint8_t *at = sigma; at > text.at; at -= size) {
        character = character_before(text.at, at, &size);
        if (!is_ignored(character))
            break;
        character = 0;
    }
    if (!is_cased(character))
        return false;
    const uint8_t *end = text.at + text.size;
    for (const uint8_t *at = sigma + 2; at < end; at += size) {
        character = character_at(at, end, &size);
        if (!is_ignored(character))
            return !is_cased(character);
    }
    return true;
}

static uint8_t *put_character(uint8_t *at, uint32_t character)
{
    if (character < 0x80) {
        *at++ = (uint8_t)character;
    } else if (character < 0x800) {
        *at++ = (uint8_t)(0xC0 | character >> 6);
        *at++ = (uint8_t)(0x80 | (character & 0x3F));
    } else if (character < 0x10000) {
        *at++ = (uint8_t)(0xE0 | character >> 12);
        *at++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        *at++ = (uint8_t)(0x80 | (character & 0x3F));
    } else {
        *at++ = (uint8_t)(0xF0 | character >> 18);
        *at++ = (uint8_t)(0x80 | (character >> 12 & 0x3F));
        *at++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        *at++ = (uint8_t)(0x80 | (character & 0x3F));
    }
    return at;
}

/* The high bit of each byte that is a capital; for eight bytes of ASCII. */
static uint64_t ascii_capitals(uint64_t bytes)
{
    uint64_t from_a = bytes + EACH_LOW_BIT * (0x80 - 'A');
    uint64_t behind_z = bytes + EACH_LOW_BIT * (0x80 - 'Z' - 1);
    return from_a & ~behind_z & EACH_HIGH_BIT;
}

/* How many bytes at the beginning are the same in lower case. */
static uint32_t same_in_lower_case(Text text)
{
    uint32_t at = 0;
    while (text.size - at >= 8) {
        uint64_t bytes = eight_bytes(text.at + at);
        if ((bytes & EACH_HIGH_BIT) != 0 || ascii_capitals(bytes) != 0)
            break;
        at += 8;
    }
    const uint8_t *end = text.at + text.size;
    while (at < text.size) {
        uint32_t size, character = character_at(text.at + at, end, &size);
        if (character == DOTTED_I || character == SIGMA || lower_of(character) != character)
            break;
        at += size;
    }
    return at;
}

static uint8_t *put_lowered(uint8_t *out, Text text, uint32_t from)
{
    const uint8_t *at = text.at + from, *end = text.at + text.size;
    while (at < end) {
        while (end - at >= 8) {
            uint64_t bytes = eight_bytes(at);
            if ((bytes & EACH_HIGH_BIT) != 0)
                break;
            bytes |= ascii_capitals(bytes) >> 2;
            memcpy(out, &bytes, sizeof bytes);
            at += 8;
            out += 8;
        }
        /* Up to the next eight bytes: where one is not ASCII, its neighbours are usually not either. */
        for (const uint8_t *stop = end - at > 8 ? at + 8 : end; at < stop;) {
            uint32_t size, character = character_at(at, end, &size);
            if (character == DOTTED_I) {
                out = put_character(put_character(out, 'i'), 0x307);
            } else if (character == SIGMA) {
                out = put_character(out, is_last_letter(text, at) ? 0x3C2 : 0x3C3);
            } else {
                uint32_t lower = lower_of(character);
                if (lower != character) {
                    out = put_character(out, lower);
                } else {
                    memcpy(out, at, size);
                    out += size;
                }
            }
            at += size;
        }
    }
    return out;
}

Text lowered(Arena *arena, Text text)
{
    uint32_t same = same_in_lower_case(text);
    if (same == text.size)
        return text;
    /* At most 1.5 times as long: make_unicode.py checks that. */
    size_t rest = text.size - same, capacity = same + (is_ascii(text) ? rest : rest + rest / 2 + 1);
    if (capacity > UINT32_MAX)
        page_fail(arena, "text too long");
    uint8_t *made = arena_alloc(arena, capacity);
    memcpy(made, text.at, same);
    return (Text){made, (uint32_t)(put_lowered(made + same, text, same) - made)};
}
