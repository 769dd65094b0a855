/* Language data: names, scripts, words and letters, all from Python, see packed_tables.py. */
#ifndef TENAX_LANGUAGE_DATA_H
#define TENAX_LANGUAGE_DATA_H

#include "dom.h"

#define MAX_NAMES 256
#define MAX_RANGES 64
#define MAX_WORD_LISTS 4
#define MAX_LETTERS 1024
#define LETTERS_END 0x2000u     /* no typical letter is beyond */

/* Languages and scripts have numbers: their indexes among the names. A word or a letter has speakers. */
typedef struct {
    uint16_t first, count;      /* in `language_data.speakers` */
} Speakers;

typedef struct {
    Text text;
    uint64_t hash;
    Speakers speakers;
} Word;

/* The words of the languages of one script; `slots` contains the number of a word plus one, or 0. */
typedef struct {
    uint16_t script;
    bool is_devanagari;
    Word *words;
    uint16_t *slots;
    uint32_t count, mask, longest;
} WordList;

typedef struct {
    uint32_t first, last;
    uint16_t script;
} ScriptRange;

typedef struct {
    bool is_set;
    Text names[MAX_NAMES];
    uint16_t latin, japanese, chinese, devanagari;
    ScriptRange ranges[MAX_RANGES];
    uint32_t range_count;
    uint16_t *speakers;
    WordList lists[MAX_WORD_LISTS];
    uint32_t list_count;
    Speakers letters[MAX_LETTERS];         /* in alphabetical order */
    uint32_t letter_count;
    uint16_t letter_numbers[LETTERS_END];   /* of each character; 0 for most, which are no evidence */
} LanguageData;

/* Set once; read-only afterwards. */
extern LanguageData language_data;

/* Takes words and letters, once per process; later calls are ignored. */
void native_set_languages(const uint8_t *data, size_t size);

/* The words of a script's languages; NULL for a script with a single language. */
const WordList *word_list(uint16_t script);

/* NULL for a word that is not in the list. */
const Word *known_word(const WordList *list, const uint8_t *at, uint32_t size);

#endif
