/* Parses the data of packed_tables.py, and looks up words in it: see language_data.h. */
#include "language_data.h"

#include <stdlib.h>

LanguageData language_data;

/* Reads the data from begin to end; invalid data are ignored as a whole. */
typedef struct {
    const uint8_t *at, *end;
    uint32_t speaker_count, name_count;
    bool is_broken;
} Reader;

static uint32_t next_number(Reader *from, uint32_t size)
{
    uint32_t value = 0;
    if ((size_t)(from->end - from->at) < size) {
        from->is_broken = true;
        return 0;
    }
    for (uint32_t n = 0; n < size; n++)
        value |= (uint32_t)*from->at++ << (8 * n);
    return value;
}

static uint32_t next_count(Reader *from, uint32_t size, uint32_t most)
{
    uint32_t count = next_number(from, size);
    if (count <= most)
        return count;
    from->is_broken = true;
    return 0;
}

static Text next_text(Reader *from)
{
    uint32_t size = next_number(from, 1);
    if ((size_t)(from->end - from->at) < size) {
        from->is_broken = true;
        return (Text){NULL, 0};
    }
    from->at += size;
    return (Text){from->at - size, size};
}

static uint16_t next_name(Reader *from)
{
    uint32_t number = next_number(from, 2);
    if (number < from->name_count)
        return (uint16_t)number;
    from->is_broken = true;
    return 0;
}

/* There is room for as many speakers as the data has bytes. */
static Speakers next_speakers(Reader *from)
{
    Speakers found = {(uint16_t)from->speaker_count, (uint16_t)next_number(from, 1)};
    for (uint32_t n = 0; n < found.count && !from->is_broken; n++)
        language_data.speakers[from->speaker_count++] = next_name(from);
    if (from->speaker_count > UINT16_MAX)
        from->is_broken = true;
    return found;
}

static uint64_t hash_of(const uint8_t *at, uint32_t size)
{
    uint64_t hash = size;
    for (uint32_t n = 0; n < size; n++)
        hash = (hash ^ at[n]) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* A list keeps half of its slots free, so every search ends soon. */
const Word *known_word(const WordList *list, const uint8_t *at, uint32_t size)
{
    if (size > list->longest)
        return NULL;
    uint64_t hash = hash_of(at, size);
    for (uint32_t slot = (uint32_t)hash & list->mask; list->slots[slot] != 0; slot = (slot + 1) & list->mask) {
        const Word *word = &list->words[list->slots[slot] - 1];
        if (word->hash == hash && word->text.size == size && memcmp(word->text.at, at, size) == 0)
            return word;
    }
    return NULL;
}

static void place_word(WordList *list, uint32_t number)
{
    uint32_t slot = (uint32_t)list->words[number].hash & list->mask;
    while (list->slots[slot] != 0)
        slot = (slot + 1) & list->mask;
    list->slots[slot] = (uint16_t)(number + 1);
}

static void read_word_list(Reader *from, WordList *list)
{
    list->script = next_name(from);
    list->is_devanagari = list->script == language_data.devanagari;
    uint32_t count = next_count(from, 2, UINT16_MAX - 1), slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    list->mask = slots - 1;
    list->words = calloc(count + 1, sizeof *list->words);
    list->slots = calloc(slots, sizeof *list->slots);
    if (list->words == NULL || list->slots == NULL) {
        from->is_broken = true;
        return;
    }
    for (; list->count < count && !from->is_broken; list->count++) {
        Word *word = &list->words[list->count];
        word->text = next_text(from);
        word->hash = hash_of(word->text.at, word->text.size);
        word->speakers = next_speakers(from);
        list->longest = word->text.size > list->longest ? word->text.size : list->longest;
        place_word(list, list->count);
    }
}

static void read_names(Reader *from)
{
    uint32_t count = next_count(from, 2, MAX_NAMES);
    for (uint32_t n = 0; n < count; n++)
        language_data.names[n] = next_text(from);
    from->name_count = count;
    language_data.latin = next_name(from);
    language_data.devanagari = next_name(from);
    language_data.japanese = next_name(from);
    language_data.chinese = next_name(from);
}

static void read_ranges(Reader *from)
{
    language_data.range_count = next_count(from, 2, MAX_RANGES);
    for (uint32_t n = 0; n < language_data.range_count; n++) {
        ScriptRange *range = &language_data.ranges[n];
        range->first = next_number(from, 4);
        range->last = next_number(from, 4);
        range->script = next_name(from);
    }
}

static void read_letters(Reader *from)
{
    language_data.letter_count = next_count(from, 2, MAX_LETTERS);
    for (uint32_t n = 0; n < language_data.letter_count && !from->is_broken; n++) {
        uint32_t letter = next_count(from, 4, LETTERS_END - 1);
        language_data.letter_numbers[letter] = (uint16_t)(n + 1);
        language_data.letters[n] = next_speakers(from);
    }
}

void native_set_languages(const uint8_t *data, size_t size)
{
    if (language_data.speakers != NULL || size == 0)
        return;
    uint8_t *kept = malloc(size);
    language_data.speakers = calloc(size, sizeof *language_data.speakers);
    if (kept == NULL || language_data.speakers == NULL)
        return;
    memcpy(kept, data, size);
    Reader from = {.at = kept, .end = kept + size};
    read_names(&from);
    read_ranges(&from);
    language_data.list_count = next_count(&from, 2, MAX_WORD_LISTS);
    for (uint32_t n = 0; n < language_data.list_count && !from.is_broken; n++)
        read_word_list(&from, &language_data.lists[n]);
    read_letters(&from);
    language_data.is_set = !from.is_broken && from.at == from.end;
}

const WordList *word_list(uint16_t script)
{
    for (uint32_t n = 0; n < language_data.list_count; n++)
        if (language_data.lists[n].script == script)
            return &language_data.lists[n];
    return NULL;
}
