/* What is known of languages: names, scripts, words and letters, all from Python, see languages.py. */
#ifndef TENAX_LANGUAGE_DATA_H
#define TENAX_LANGUAGE_DATA_H

#include "dom.h"

#define MOST_NAMES 256
#define MOST_RANGES 64
#define MOST_WORD_LISTS 4
#define MOST_LETTERS 1024
#define LETTERS_END 0x2000u     /* no telling letter is beyond */

/* Languages and scripts have numbers: their places among the names. A word or a letter has speakers. */
typedef struct {
    uint16_t first, count;      /* in `language_data.speakers` */
} Speakers;

typedef struct {
    Text text;
    uint64_t hash;
    Speakers speakers;
} Word;

/* The words of the languages of one script; `slots` has the number of a word and one, or 0. */
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
    Text names[MOST_NAMES];
    uint16_t latin, japanese, chinese, devanagari;
    ScriptRange ranges[MOST_RANGES];
    uint32_t range_count;
    uint16_t *speakers;
    WordList lists[MOST_WORD_LISTS];
    uint32_t list_count;
    Speakers letters[MOST_LETTERS];         /* in the order of the alphabet */
    uint32_t letter_count;
    uint16_t letter_numbers[LETTERS_END];   /* of each character; 0 for most, which tell nothing */
} LanguageData;

/* Set once; nothing is written to it afterwards. */
extern LanguageData language_data;

/* Takes words and letters, once for the process; what is given later is ignored. */
void native_set_languages(const uint8_t *data, size_t size);

/* The words of a script's languages; NULL for a script that says which language it is. */
const WordList *word_list(uint16_t script);

/* NULL for a word that is not in the list. */
const Word *known_word(const WordList *list, const uint8_t *at, uint32_t size);

#endif
