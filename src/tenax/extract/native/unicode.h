/* Characters as Python defines them, over UTF-8: in unicode.c; functions that need the Unicode tables are in
   letters.c. */
#ifndef TENAX_UNICODE_H
#define TENAX_UNICODE_H

#include "dom.h"

/* The character at `at`, and its size in bytes; `at < end`. Invalid UTF-8 is U+FFFD, one byte long. */
uint32_t character_at(const uint8_t *at, const uint8_t *end, uint32_t *size);

/* Whether a byte is not part of any white space: most bytes are of this kind, and this check is fast. */
static inline bool is_printed(uint8_t byte) { return (uint8_t)(byte - '!') <= '~' - '!'; }

/* The size of the white space (`str.isspace`) at `at`: 0 for none. */
uint32_t any_space_at(const uint8_t *at, const uint8_t *end);
static inline uint32_t space_at(const uint8_t *at, const uint8_t *end)
{
    return at >= end || is_printed(*at) ? 0 : any_space_at(at, end);
}

/* The size of the white space just before `end`: 0 for none. */
uint32_t space_before(const uint8_t *begin, const uint8_t *end);

/* The number of characters: `len`. */
uint32_t count_characters(Text text);

/* `str.lstrip`, `rstrip`, `strip`. */
Text without_spaces_before(Text text);
Text without_spaces_behind(Text text);
static inline Text strip_left(Text text)
{
    return text.size == 0 || is_printed(text.at[0]) ? text : without_spaces_before(text);
}
static inline Text strip_right(Text text)
{
    return text.size == 0 || is_printed(text.at[text.size - 1]) ? text : without_spaces_behind(text);
}
static inline Text strip_text(Text text) { return strip_right(strip_left(text)); }

/* `str.isspace`, but true for an empty text. */
static inline bool is_blank(Text text) { return strip_left(text).size == 0; }

/* The Unicode version of the tables. */
const char *unicode_version(void);

/* `str.isalnum` and `str.isdecimal` of one character. */
bool is_alnum(uint32_t character);
bool is_decimal(uint32_t character);

/* `\w` of `re`. */
static inline bool is_word(uint32_t character) { return character == '_' || is_alnum(character); }

/* `str.lower`, in memory of the page; ASCII is fast. */
Text lowered(Arena *arena, Text text);

/* The next of `text.split()`, which leaves the rest; false if there is none. */
bool next_split_word(Text *rest, Text *word);

/* `" ".join(text.split())`, in memory of the page; the same text if nothing changes. */
Text collapse_spaces(Arena *arena, Text text);

/* The first characters: `text[:count]`. */
Text first_characters(Text text, uint32_t count);

/* Whether a text is ASCII. */
bool is_ascii(Text text);

/* The first position of `needle` in `text` from `from` on, in bytes; UINT32_MAX if missing. */
uint32_t find(Text text, Text needle, uint32_t from);

#endif
