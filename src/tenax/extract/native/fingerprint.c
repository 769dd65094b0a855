/* Similar text has a similar fingerprint: see `text.fingerprint` for the method and its reasons. */
#include "page.h"
#include "unicode.h"
#include "utf8.h"

#define FINGERPRINT_BYTES (2 * FINGERPRINT_BINS)

/* fingerprint._ANCHORS: the letters of a group become one. */
static const char *const ANCHORS[] = FINGERPRINT_ANCHORS;

/* The number of letters from which a text needs one group less. */
static const double LIMITS[] = FINGERPRINT_ANCHOR_LIMITS;

/* The letter of each byte: 0 for other bytes. */
static uint8_t ascii_letters[256], all_letters[256];

#define SLICES 8
static uint32_t crc_tables[SLICES][256];

/* Not by unicode.h, whose own tables may be made after ours. */
static bool is_ascii_alnum(uint32_t byte)
{
    return byte - '0' < 10 || (byte | 0x20) - 'a' < 26;
}

static void make_letters(void)
{
    uint8_t grouped[256];
    for (uint32_t byte = 0; byte < 256; byte++)
        grouped[byte] = (uint8_t)(byte - 'A' < 26 ? byte + 0x20 : byte);
    for (uint32_t byte = 0; byte < 256; byte++)
        for (uint32_t group = 0; group < FINGERPRINT_ANCHORS_COUNT; group++)
            if (grouped[byte] != 0 && strchr(ANCHORS[group], (char)grouped[byte]) != NULL) {
                grouped[byte] = (uint8_t)(group + 1);
                break;
            }
    for (uint32_t byte = 0; byte < 256; byte++) {
        ascii_letters[byte] = is_ascii_alnum(byte) ? grouped[byte] : 0;
        all_letters[byte] = byte >= 0x80 && byte < 0xC0 ? grouped[byte] : ascii_letters[byte];
    }
}

static void make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
        crc_tables[0][byte] = value;
    }
    for (uint32_t slice = 1; slice < SLICES; slice++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t before = crc_tables[slice - 1][byte];
            crc_tables[slice][byte] = before >> 8 ^ crc_tables[0][before & 0xFF];
        }
}

/* When the library is loaded; these tables are read-only afterwards. */
__attribute__((constructor)) static void make_tables(void)
{
    make_letters();
    make_crc_tables();
}

/* Same as zlib's, eight bytes at a time. */
static uint32_t crc32_of(const uint8_t *at, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (; size >= 8; at += 8, size -= 8) {
        crc ^= at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        crc = crc_tables[7][crc & 0xFF] ^ crc_tables[6][crc >> 8 & 0xFF] ^ crc_tables[5][crc >> 16 & 0xFF] ^
              crc_tables[4][crc >> 24] ^ crc_tables[3][at[4]] ^ crc_tables[2][at[5]] ^ crc_tables[1][at[6]] ^
              crc_tables[0][at[7]];
    }
    for (; size > 0; at++, size--)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}

/* The letters of a text; `to` has room for all of it. */
static Text translate_bytes(Text text, const uint8_t letters[256], uint8_t *to)
{
    uint32_t size = 0;
    for (uint32_t n = 0; n < text.size; n++) {
        uint8_t letter = letters[text.at[n]];
        to[size] = letter;
        size += letter != 0;
    }
    return (Text){to, size};
}

static uint32_t count_of(Text text, const uint8_t letters[256])
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < text.size; n++)
        count += letters[text.at[n]] != 0;
    return count;
}

/* Whether a text contains a character whose first byte is rare in it, as in Latin text. */
static bool contains(Text text, const char *character)
{
    size_t size = strlen(character);
    const uint8_t *at = text.at, *end = text.at + text.size;
    while ((at = memchr(at, (uint8_t)character[0], (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= size && memcmp(at, character, size) == 0)
            return true;
        at++;
    }
    return false;
}

/* visible.ASCII_WHEN_LOWER: dotted capital I and the Kelvin sign. */
static bool has_ascii_when_lower(Text text)
{
    return contains(text, "\u0130") || contains(text, "\u212A");
}

/* The size of a punctuation mark beyond ASCII here: fingerprint._PUNCTUATION. */
static uint32_t punctuation_size(const uint8_t *at, const uint8_t *end)
{
    size_t available = (size_t)(end - at);
    if (available < 2)
        return 0;
    switch (at[0]) {
    case 0xC2:
        return at[1] >= 0xA0 && at[1] <= 0xBF ? 2 : 0;
    case 0xD8:
        return at[1] == 0x8C || at[1] == 0x9B || at[1] == 0x9F ? 2 : 0;
    case 0xDB:
        return at[1] == 0x94 ? 2 : 0;
    case 0xE0:
        return available >= 3 && at[1] == 0xA5 && at[2] == 0xA4 ? 3 : 0;
    case 0xE2:
        return available >= 3 && (at[1] == 0x80 || at[1] == 0x81) ? 3 : 0;
    case 0xE3:
        return available >= 3 && (at[1] == 0x80 || (at[1] == 0x83 && at[2] == 0xBB)) ? 3 : 0;
    case 0xEF:
        return available >= 3 && (at[1] == 0xBC || at[1] == 0xBD) ? 3 : 0;
    default:
        return 0;
    }
}

static Text strip_punctuation(Arena *arena, Text text)
{
    uint8_t *made = arena_alloc(arena, text.size), *out = made;
    const uint8_t *at = text.at, *end = text.at + text.size;
    while (at < end) {
        uint32_t size = *at >= 0x80 ? punctuation_size(at, end) : 0;
        if (size == 0)
            *out++ = *at++;
        else
            at += size;
    }
    return (Text){made, (uint32_t)(out - made)};
}

static bool is_latin(uint32_t latin, uint32_t letters)
{
    return letters - latin <= FINGERPRINT_MAX_NON_LATIN_SHARE * letters;
}

/* The first bytes of Chinese, Japanese and Korean characters. */
static uint32_t count_cjk(Text text)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < text.size; n++)
        count += text.at[n] >= 0xE3 && text.at[n] <= 0xED;
    return count;
}

/* The letters of a text, and the window length. */
static Text extract_letters(Arena *arena, Text text, uint32_t *window)
{
    *window = FINGERPRINT_WINDOW;
    Text latin = translate_bytes(text, ascii_letters, arena_alloc(arena, text.size));
    uint32_t foreign = 2 * (text.size - count_characters(text));
    bool is_mostly_latin = foreign <= FINGERPRINT_MAX_NON_LATIN_SHARE * (latin.size + foreign);
    if (foreign == 0 || (is_mostly_latin && !has_ascii_when_lower(text)))
        return latin;
    text = lowered(arena, text);
    uint8_t *buffer = arena_alloc(arena, text.size);
    latin = translate_bytes(text, ascii_letters, buffer);
    if (is_latin(latin.size, count_of(text, all_letters)))
        return latin;
    text = strip_punctuation(arena, text);
    if (is_latin(latin.size, count_of(text, all_letters)))
        return latin;
    Text letters = translate_bytes(text, all_letters, buffer);
    if (4 * count_cjk(text) > letters.size)
        *window = FINGERPRINT_CJK_WINDOW;
    return letters;
}

/* Keeps the smallest hash of each bin. */
typedef struct {
    uint32_t smallest[FINGERPRINT_BINS];
    bool is_full[FINGERPRINT_BINS];
    uint32_t count;
} Bins;

static void add_window(Bins *bins, const uint8_t *at, size_t size)
{
    uint32_t hash = crc32_of(at, size), bin = hash >> FINGERPRINT_BIN_SHIFT;
    if (!bins->is_full[bin] || hash < bins->smallest[bin])
        bins->smallest[bin] = hash;
    bins->is_full[bin] = true;
    bins->count++;
}

/* The windows after the anchors of the first `groups` groups. */
static void add_windows(Bins *bins, Text letters, uint32_t window, uint32_t groups)
{
    uint32_t end = letters.size > window ? letters.size - window : 0;
    for (uint32_t n = 0; n < end;) {
        uint32_t stop = end - n > AT_ONCE ? n + AT_ONCE : end;
        if (stop == n + AT_ONCE && !is_any((Sixteen)(sixteen_bytes(letters.at + n) <= (uint8_t)groups)))
            n = stop;
        for (; n < stop; n++)
            if (letters.at[n] <= groups)
                add_window(bins, letters.at + n + 1, window);
    }
}

static void fill_bins(Bins *bins, Text letters, uint32_t window)
{
    uint32_t groups = FINGERPRINT_ANCHORS_COUNT;
    while (groups > 1 && letters.size >= LIMITS[FINGERPRINT_ANCHORS_COUNT - groups])
        groups--;
    for (; groups <= FINGERPRINT_ANCHORS_COUNT; groups++) {
        *bins = (Bins){0};
        add_windows(bins, letters, window, groups);
        if (bins->count >= FINGERPRINT_BINS)
            return;
    }
    if (bins->count == 0)
        add_window(bins, letters.at, letters.size);
}

Text near_fingerprint(Arena *arena, Text text)
{
    uint32_t window;
    Text letters = extract_letters(arena, first_characters(text, FINGERPRINT_MAX_CHARS), &window);
    if (letters.size == 0)
        return (Text){NULL, 0};
    Bins bins;
    fill_bins(&bins, letters, window);
    uint8_t *made = arena_alloc(arena, FINGERPRINT_BYTES);
    /* An empty bin copies the next non-empty one; the last ones copy from the first. */
    uint32_t first = 0;
    while (first < FINGERPRINT_BINS - 1 && !bins.is_full[first])
        first++;
    uint32_t value = bins.smallest[first];
    for (uint32_t bin = FINGERPRINT_BINS; bin-- > 0;) {
        if (bins.is_full[bin])
            value = bins.smallest[bin];
        made[2 * bin] = (uint8_t)value;
        made[2 * bin + 1] = (uint8_t)(value >> 8);
    }
    return (Text){made, FINGERPRINT_BYTES};
}
