/* Detects the language of a text by its script, words and letters: `language.detect`. */
#include "language.h"

#include "constants.h"
#include "language_data.h"
#include "unicode.h"

#define NO_SCRIPT UINT16_MAX

/* The score of each language, and the order of their first scores: of equals the first wins. */
typedef struct {
    double of[MAX_NAMES];
    bool is_scored[MAX_NAMES];
    uint16_t order[MAX_NAMES];
    uint32_t count;
} Scores;

static void add_scores(Scores *scores, Speakers speakers, uint32_t times)
{
    double weight = 1.0 / speakers.count;
    for (uint32_t n = 0; n < speakers.count; n++) {
        uint16_t language = language_data.speakers[speakers.first + n];
        if (!scores->is_scored[language]) {
            scores->is_scored[language] = true;
            scores->order[scores->count++] = language;
        }
        scores->of[language] += weight * times;
    }
}

static bool is_ascii_word(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

/* The size of the character here, and whether it is part of a word. The vowel signs of Devanagari are not letters in
 * Python, and would split its words. */
static bool is_of_word(const WordList *list, const uint8_t *at, const uint8_t *end, uint32_t *size)
{
    if (*at < 0x80) {
        *size = 1;
        return is_ascii_word(*at) && !list->is_devanagari;
    }
    uint32_t character = character_at(at, end, size);
    return list->is_devanagari ? character >= 0x900 && character <= 0x963 : is_word(character);
}

/* The next word from `*at` on, which is moved behind it; its size, or 0 at the end. */
static uint32_t next_word(const WordList *list, const uint8_t **at, const uint8_t *end, const uint8_t **word)
{
    uint32_t size = 0;
    while (*at < end && !is_of_word(list, *at, end, &size))
        *at += size;
    *word = *at;
    while (*at < end && is_of_word(list, *at, end, &size))
        *at += size;
    return (uint32_t)(*at - *word);
}

/* Counts each common word in the sample, up to a few times, in their order: the sums depend on it. Returns the
 * number of all words. */
static uint32_t score_words(Arena *arena, const WordList *list, Text sample, Scores *scores, uint32_t *seen)
{
    Bytes times = {0};
    Numbers order = {0};
    FILL(arena, times, list->count);
    const uint8_t *at = sample.at, *end = sample.at + sample.size, *begin;
    uint32_t words = 0, size;
    for (; (size = next_word(list, &at, end, &begin)) > 0; words++) {
        const Word *word = known_word(list, begin, size);
        if (word == NULL)
            continue;
        uint32_t number = (uint32_t)(word - list->words);
        if (times.at[number] == 0)
            ADD(arena, order, number);
        times.at[number] += times.at[number] < DETECT_MAX_WORD_COUNT;
    }
    for (uint32_t n = 0; n < order.count; n++) {
        uint32_t often = times.at[order.at[n]];
        *seen += often;
        add_scores(scores, list->words[order.at[n]].speakers, often);
    }
    return words;
}

static void score_letters(Text sample, Scores *scores)
{
    uint8_t times[MAX_LETTERS] = {0};
    const uint8_t *at = sample.at, *end = sample.at + sample.size;
    for (uint32_t size; at < end; at += size) {
        uint32_t character = character_at(at, end, &size);
        uint32_t number = character < LETTERS_END ? language_data.letter_numbers[character] : 0;
        if (number > 0 && times[number - 1] < DETECT_MAX_WORD_COUNT)
            times[number - 1]++;
    }
    for (uint32_t n = 0; n < language_data.letter_count; n++)
        if (times[n] > 0)
            add_scores(scores, language_data.letters[n], times[n]);
}

static void detect_by_words(Arena *arena, const WordList *list, Text sample, Text *tag, double *confidence)
{
    Scores scores = {.count = 0};
    uint32_t seen = 0, words = score_words(arena, list, sample, &scores, &seen);
    if (!is_ascii(sample))
        score_letters(sample, &scores);
    if (scores.count == 0)
        return;
    double first = scores.of[scores.order[0]], second = 0.0;
    *tag = language_data.names[scores.order[0]];
    for (uint32_t n = 1; n < scores.count; n++) {
        double score = scores.of[scores.order[n]];
        if (score > first) {
            second = first;
            first = score;
            *tag = language_data.names[scores.order[n]];
        } else if (score > second) {
            second = score;
        }
    }
    double ahead = first - second;
    double share = words > 0 ? seen / (DETECT_USUAL_COMMON_WORD_SHARE * words) : 0.0;
    *confidence = ahead / (ahead + DETECT_HALF_CONFIDENCE_LEAD) * (share < 1.0 ? share : 1.0);
}

/* The letters of each script except Latin, by its number. */
typedef struct {
    uint32_t of[MAX_NAMES];
    uint32_t letters;       /* of all of them */
    uint32_t chars;         /* of the sample, without its spaces */
} Scripts;

static uint16_t script_of(uint32_t character, uint32_t *last_range)
{
    /* The next letter is usually of the same script. */
    const ScriptRange *range = &language_data.ranges[*last_range];
    if (character >= range->first && character <= range->last)
        return range->script;
    for (uint32_t n = 0; n < language_data.range_count; n++)
        if (character >= language_data.ranges[n].first && character <= language_data.ranges[n].last) {
            *last_range = n;
            return language_data.ranges[n].script;
        }
    return NO_SCRIPT;
}

static void count_scripts(Text sample, Scripts *scripts)
{
    uint32_t last_range = 0;
    const uint8_t *at = sample.at, *end = sample.at + sample.size;
    for (uint32_t size; at < end; at += size) {
        uint32_t character = character_at(at, end, &size);
        scripts->chars += character != ' ';
        uint16_t script = character >= DETECT_FIRST_NON_LATIN ? script_of(character, &last_range) : NO_SCRIPT;
        if (script != NO_SCRIPT) {
            scripts->of[script]++;
            scripts->letters++;
        }
    }
}

/* Of equals the last in the order of their names. */
static uint16_t most_common_script(const Scripts *scripts)
{
    uint16_t best = 0;
    for (uint16_t n = 1; n < MAX_NAMES; n++)
        if (scripts->of[n] >= scripts->of[best])
            best = n;
    return best;
}

/* Japanese always uses kana, Chinese never does. */
static void merge_cjk(Scripts *scripts)
{
    uint32_t kana = scripts->of[language_data.japanese], both = kana + scripts->of[language_data.chinese];
    bool is_japanese = kana >= DETECT_KANA_SHARE * both;
    scripts->of[language_data.japanese] = is_japanese ? both : 0;
    scripts->of[language_data.chinese] = is_japanese ? 0 : both;
}

void detect_language(Arena *arena, Text lowered_sample, Text *tag, double *confidence)
{
    *tag = (Text){NULL, 0};
    *confidence = 0.0;
    if (!language_data.is_set)
        page_fail(arena, "no languages were set");
    Scripts scripts = {.letters = 0};
    if (!is_ascii(lowered_sample))
        count_scripts(lowered_sample, &scripts);
    uint16_t script = language_data.latin;
    if (scripts.letters > 0 && scripts.letters >= DETECT_NON_LATIN_SHARE * scripts.chars) {
        merge_cjk(&scripts);
        script = most_common_script(&scripts);
    }
    const WordList *list = word_list(script);
    if (list != NULL) {
        detect_by_words(arena, list, lowered_sample, tag, confidence);
        return;
    }
    *tag = language_data.names[script];
    /* A script is certain, but one letter is no text. */
    *confidence = (double)scripts.of[script] / (scripts.letters + 2);
}
