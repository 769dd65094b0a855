/* See class_hints.h. */
#include "class_hints.h"

#include <stdlib.h>

#include "lexbor.h"
#include "page.h"
#include "table.h"
#include "unicode.h"

#define LETTER_BITS 5           /* that distinguish the letters of ASCII, ignoring case */
#define PAIRS (1 << CLASS_HINTS_PREFIX_LETTERS * LETTER_BITS)

typedef struct {
    const uint8_t *letters;
    uint32_t size;
    uint32_t bit;
    bool is_at_start, is_at_end;
    bool is_last;               /* of those with the same two first letters */
} HintPattern;

typedef struct {
    Text name;
    uint32_t bit;
} Role;

/* A state after the common prefix of some beginnings; index 0 among its successors means none. */
typedef struct {
    uint8_t category, category_at_edge;
    uint16_t after_digits, after_any;
    uint16_t first_edge, edge_count;
} TrieNode;

typedef struct {
    uint8_t byte;
    uint16_t step;
} Edge;

static struct {
    uint8_t *data;              /* the others point into it */
    uint32_t name_chars, beginning_chars;
    LIST(HintPattern) patterns;
    uint16_t first_pattern[PAIRS]; /* of those with each two first letters: one more than its number, 0 for none */
    uint32_t tags[TAG_COUNT];
    LIST(Role) roles;
    LIST(uint32_t) leading_chars;
    LIST(TrieNode) steps;
    LIST(Edge) edges;
    uint16_t first_steps[256];
} words;

/* Reads the data of packed_tables.py; past its end there are zeros. */
typedef struct {
    const uint8_t *at, *end;
} Reader;

static uint32_t next_number(Reader *from, unsigned bytes)
{
    if ((size_t)(from->end - from->at) < bytes) {
        from->at = from->end;
        return 0;
    }
    uint32_t found = 0;
    for (unsigned index = 0; index < bytes; index++)
        found |= (uint32_t)from->at[index] << (8 * index);
    from->at += bytes;
    return found;
}

static Text next_word(Reader *from)
{
    uint32_t size = next_number(from, 1);
    if ((size_t)(from->end - from->at) < size)
        size = 0;
    Text found = {from->at, size};
    from->at += size;
    return found;
}

/* A list with its length as prefix; empty if there is no memory. */
#define NEXT_LIST(from, list)                                                                                         \
    do {                                                                                                              \
        (list).count = (list).capacity = next_number((from), 2);                                                \
        (list).at = calloc((list).count ? (list).count : 1, sizeof *(list).at);                                       \
        if ((list).at == NULL)                                                                                        \
            (list).count = (list).capacity = 0;                                                                       \
    } while (0)

static uint32_t letter_bits(uint8_t letter) { return letter & ((1 << LETTER_BITS) - 1); }

static uint32_t pattern_pair(const HintPattern *pattern)
{
    return letter_bits(pattern->letters[0]) << LETTER_BITS | letter_bits(pattern->letters[1]);
}

/* In the order of their first letters. */
static void read_patterns(Reader *from)
{
    NEXT_LIST(from, words.patterns);
    for (uint32_t number = 0; number < words.patterns.count; number++) {
        HintPattern *pattern = &words.patterns.at[number];
        pattern->bit = next_number(from, 4);
        pattern->is_at_start = next_number(from, 1) != 0;
        pattern->is_at_end = next_number(from, 1) != 0;
        Text letters = next_word(from);
        pattern->letters = letters.at;
        pattern->size = letters.size;
        pattern->is_last = true;
        if (pattern->size < CLASS_HINTS_PREFIX_LETTERS)
            continue;
        uint16_t *first = &words.first_pattern[pattern_pair(pattern)];
        if (*first == 0)
            *first = (uint16_t)(number + 1);
        else
            pattern[-1].is_last = false;
    }
}

static void read_tags(Reader *from)
{
    uint32_t count = next_number(from, 2);
    for (uint32_t number = 0; number < count; number++) {
        uint32_t parser_number = next_number(from, 2);
        uint32_t bit = next_number(from, 4);
        if (parser_number < LEXBOR_TAGS && lexbor_tags[parser_number] != TAG_unknown)
            words.tags[lexbor_tags[parser_number]] |= bit;
    }
}

static void read_roles(Reader *from)
{
    NEXT_LIST(from, words.roles);
    for (uint32_t number = 0; number < words.roles.count; number++) {
        words.roles.at[number].bit = next_number(from, 4);
        words.roles.at[number].name = next_word(from);
    }
}

static void read_leading_chars(Reader *from)
{
    NEXT_LIST(from, words.leading_chars);
    for (uint32_t number = 0; number < words.leading_chars.count; number++)
        words.leading_chars.at[number] = next_number(from, 4);
}

static void read_beginnings(Reader *from)
{
    NEXT_LIST(from, words.steps);
    for (uint32_t number = 0; number < words.steps.count; number++) {
        TrieNode *step = &words.steps.at[number];
        step->category = (uint8_t)next_number(from, 1);
        step->category_at_edge = (uint8_t)next_number(from, 1);
        step->after_digits = (uint16_t)next_number(from, 2);
        step->after_any = (uint16_t)next_number(from, 2);
        step->first_edge = (uint16_t)next_number(from, 2);
        step->edge_count = (uint16_t)next_number(from, 2);
    }
    NEXT_LIST(from, words.edges);
    for (uint32_t number = 0; number < words.edges.count; number++) {
        words.edges.at[number].byte = (uint8_t)next_number(from, 1);
        words.edges.at[number].step = (uint16_t)next_number(from, 2);
    }
}

/* Each step must lead to another one. */
static bool are_steps_sound(void)
{
    for (uint32_t number = 0; number < words.steps.count; number++) {
        const TrieNode *step = &words.steps.at[number];
        if (step->after_digits >= words.steps.count || step->after_any >= words.steps.count
            || (uint32_t)step->first_edge + step->edge_count > words.edges.count)
            return false;
    }
    for (uint32_t number = 0; number < words.edges.count; number++)
        if (words.edges.at[number].step >= words.steps.count)
            return false;
    return words.steps.count > 0;
}

static void index_first_steps(void)
{
    const TrieNode *root = &words.steps.at[0];
    for (uint32_t index = 0; index < root->edge_count; index++) {
        const Edge *edge = &words.edges.at[root->first_edge + index];
        words.first_steps[edge->byte] = edge->step;
    }
}

void native_set_class_hints(const uint8_t *data, size_t size)
{
    if (words.data != NULL || size == 0 || (words.data = malloc(size)) == NULL)
        return;
    table_seed();
    memcpy(words.data, data, size);
    Reader from = {words.data, words.data + size};
    words.name_chars = next_number(&from, 2);
    words.beginning_chars = next_number(&from, 2);
    read_patterns(&from);
    read_tags(&from);
    read_roles(&from);
    read_leading_chars(&from);
    read_beginnings(&from);
    if (are_steps_sound())
        index_first_steps();
    else
        words.steps.count = 0;
}

bool are_class_hints_set(void) { return words.steps.count > 0; }

uint32_t find_tag_hints(uint32_t tag) { return words.tags[tag]; }

uint32_t find_role_hints(Text role)
{
    for (uint32_t number = 0; number < words.roles.count; number++) {
        const Role *known = &words.roles.at[number];
        if (known->name.size == role.size && memcmp(known->name.at, role.at, role.size) == 0)
            return known->bit;
    }
    return 0;
}

static bool is_in(const HintPattern *pattern, const uint8_t *word, uint32_t size, uint32_t at)
{
    if (pattern->size > size - at || (pattern->is_at_start && at) || (pattern->is_at_end && at + pattern->size < size))
        return false;
    for (uint32_t index = CLASS_HINTS_PREFIX_LETTERS; index < pattern->size; index++)
        if (letter_bits(word[at + index]) != letter_bits(pattern->letters[index]))
            return false;
    return true;
}

/* For a word of ASCII letters only. */
static uint32_t find_word_hints(const uint8_t *word, uint32_t size)
{
    uint32_t found = 0, pair = letter_bits(word[0]);
    for (uint32_t at = 0; at + CLASS_HINTS_PREFIX_LETTERS <= size; at++) {
        pair = (pair << LETTER_BITS | letter_bits(word[at + 1])) % PAIRS;
        if (words.first_pattern[pair] == 0)
            continue;
        const HintPattern *pattern = &words.patterns.at[words.first_pattern[pair] - 1];
        do {
            if (is_in(pattern, word, size, at))
                found |= pattern->bit;
        } while (!pattern++->is_last);
    }
    return found;
}

static bool is_upper(uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }

static bool is_lower(uint8_t byte) { return byte >= 'a' && byte <= 'z'; }

/* The end of the word that begins with a letter at `at`: small letters, the first may be a capital, or only
 * capitals, the last of which may belong to the next word. */
static uint32_t end_of_word(Text name, uint32_t at)
{
    uint32_t end = at;
    while (end < name.size && is_upper(name.at[end]))
        end++;
    if (end < name.size && is_lower(name.at[end])) {
        if (end > at + 1)
            return end - 1;
        while (end < name.size && is_lower(name.at[end]))
            end++;
    }
    return end;
}

uint32_t find_name_hints(Page *page, Text name)
{
    (void)page;
    uint32_t found = 0, at = 0;
    if (name.size > words.name_chars)
        name = first_characters(name, words.name_chars);
    while (at < name.size) {
        if (!is_upper(name.at[at]) && !is_lower(name.at[at])) {
            at++;
            continue;
        }
        uint32_t end = end_of_word(name, at);
        found |= find_word_hints(name.at + at, end - at);
        at = end;
    }
    return found;
}

static bool is_leading_char(uint32_t character)
{
    for (uint32_t number = 0; number < words.leading_chars.count; number++)
        if (words.leading_chars.at[number] == character)
            return true;
    return false;
}

static Text without_leading(Text text)
{
    uint32_t size;
    while (text.size && !is_lower(*text.at) && is_leading_char(character_at(text.at, text.at + text.size, &size))) {
        text.at += size;
        text.size -= size;
    }
    return text;
}

/* The first of two beginnings; 0 is none. */
static uint32_t first_beginning(uint32_t one, uint32_t other)
{
    return one == 0 || (other != 0 && other < one) ? other : one;
}

static uint32_t match_from(uint32_t index, const uint8_t *at, const uint8_t *end);

static uint32_t match_after_digits(uint32_t index, const uint8_t *at, const uint8_t *end)
{
    uint32_t size, digits = 0;
    for (; at < end && is_decimal(character_at(at, end, &size)); digits++)
        at += size;
    return digits ? match_from(index, at, end) : 0;
}

static uint32_t match_after_any(uint32_t index, const uint8_t *at, const uint8_t *end)
{
    uint32_t size, character = character_at(at, end, &size);
    return character != '\n' ? match_from(index, at + size, end) : 0;
}

static bool is_edge(const uint8_t *at, const uint8_t *end)
{
    uint32_t size;
    return at == end || !is_word(character_at(at, end, &size));
}

static uint32_t next_step(uint32_t index, uint8_t byte)
{
    if (index == 0)
        return words.first_steps[byte];
    const TrieNode *step = &words.steps.at[index];
    for (uint32_t number = 0; number < step->edge_count; number++)
        if (words.edges.at[step->first_edge + number].byte == byte)
            return words.edges.at[step->first_edge + number].step;
    return 0;
}

/* The first of the beginnings that match here. Recursive only after digits and after any character; no beginning has
 * more than one or two of these. */
static uint32_t match_from(uint32_t index, const uint8_t *at, const uint8_t *end)
{
    uint32_t found = 0;
    for (;;) {
        const TrieNode *step = &words.steps.at[index];
        found = first_beginning(found, step->category);
        if (step->category_at_edge && is_edge(at, end))
            found = first_beginning(found, step->category_at_edge);
        if (at == end)
            return found;
        if (step->after_digits)
            found = first_beginning(found, match_after_digits(step->after_digits, at, end));
        if (step->after_any)
            found = first_beginning(found, match_after_any(step->after_any, at, end));
        index = next_step(index, *at++);
        if (index == 0)
            return found;
    }
}

uint32_t classify_beginning(Page *page, Text lowered)
{
    (void)page;
    Text begins = without_leading(lowered);
    if (begins.size == 0 || words.steps.count == 0)
        return 0;
    if (begins.size > words.beginning_chars)
        begins = first_characters(begins, words.beginning_chars);
    return match_from(0, begins.at, begins.at + begins.size);
}
