/* The first harm in a page's markup, before it is parsed. The rules, their reasons and the names of elements are those
 * of bounds.py. The walk passes every byte a fixed number of times, whatever the page.
 */
#include <stdlib.h>

#include "memory.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_KNOWN 256
#define KNOWN_ROOM 512 /* a power of two */

/* The limits, in the order in which Python hands them over. */
typedef struct {
    uint64_t depth, attributes, tags, harmless_tags, harmless_chars, harmless_rebuilds, shallow_tags, steps, names;
} Limits;

/* What was found. Python knows these by their numbers. */
enum { UNTOLD = -1, HARMLESS, TOO_MANY_TAGS, REBUILT, TOO_MANY_ATTRIBUTES, TOO_DEEP };

/* What a name is known for: one bit for each line of names that Python hands over. */
enum { RAW_TEXT = 1, CELL = 2, NEVER_DEEP = 4, WALL = 8, SPECIAL = 16, FORMATTING = 32, FOREIGN = 64 };

typedef struct {
    const uint8_t *at;
    uint32_t size;
    uint32_t hash; /* of its lower case */
    uint8_t kind;
} Name;

typedef struct {
    Name names[KNOWN_ROOM];
    uint32_t count;
    uint32_t formatting_letters; /* a bit for each letter that one begins with */
} Known;

typedef struct {
    const uint8_t *at;
    size_t size;
} Markup;

/* A tag, or what else begins with `<`, up to its `>`; without a name if it is no tag. */
typedef struct {
    size_t start, end;
    Name name;
    bool closes;
    uint64_t attributes;
} Token;

typedef struct {
    Name *at;
    uint64_t count;
    uint64_t foreign; /* so many of them are SVG or MathML */
} Open;

enum { SPACE = 1, SLASH = 2, BRACKET = 4, EQUALS = 8, VERTICAL_TAB = 16 };

static const uint8_t classes[256] = {
    ['\t'] = SPACE, ['\n'] = SPACE, ['\f'] = SPACE, ['\r'] = SPACE, [' '] = SPACE,
    ['/'] = SLASH, ['>'] = BRACKET, ['='] = EQUALS, ['\v'] = VERTICAL_TAB,
};

static bool is_letter(uint8_t byte) { return (uint8_t)((byte | 0x20) - 'a') < 26; }

static uint8_t lower(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

static uint8_t byte_at(const Markup *html, size_t at) { return at < html->size ? html->at[at] : 0; }

/* The first place from here on that holds this byte, or the end. */
static size_t find(const Markup *html, size_t at, uint8_t byte)
{
    const uint8_t *found = at < html->size ? memchr(html->at + at, byte, html->size - at) : NULL;
    return found != NULL ? (size_t)(found - html->at) : html->size;
}

static size_t skip(const Markup *html, size_t at, uint8_t kinds)
{
    while (at < html->size && classes[html->at[at]] & kinds)
        at++;
    return at;
}

static size_t skip_to(const Markup *html, size_t at, uint8_t kinds)
{
    while (at < html->size && !(classes[html->at[at]] & kinds))
        at++;
    return at;
}

/* Names. */

static uint32_t hashed(uint32_t hash, uint8_t byte) { return (hash ^ lower(byte)) * 16777619u; }

static Name name_of(const uint8_t *at, uint32_t size)
{
    Name name = {at, size, 2166136261u, 0};
    for (uint32_t n = 0; n < size; n++)
        name.hash = hashed(name.hash, at[n]);
    return name;
}

static bool is_same(const Name *one, const Name *other)
{
    if (one->hash != other->hash || one->size != other->size)
        return false;
    for (uint32_t n = 0; n < one->size; n++)
        if (lower(one->at[n]) != lower(other->at[n]))
            return false;
    return true;
}

/* Where a known name is, or would be. There is always room, see `know`. */
static uint32_t place_of(const Known *known, const Name *name)
{
    uint32_t place = (name->hash ^ name->hash >> 16) % KNOWN_ROOM;
    while (known->names[place].at != NULL && !is_same(&known->names[place], name))
        place = (place + 1) % KNOWN_ROOM;
    return place;
}

static uint8_t kind_of(const Known *known, const Name *name) { return known->names[place_of(known, name)].kind; }

/* The names of each kind, between spaces, a line for each kind; false if they are too many. */
static bool know(Known *known, const uint8_t *names, size_t size)
{
    memset(known, 0, sizeof *known);
    uint8_t kind = RAW_TEXT;
    for (size_t start = 0, at = 0; at <= size; at++) {
        if (at < size && names[at] > ' ')
            continue;
        if (at > start) {
            Name name = name_of(names + start, (uint32_t)(at - start));
            Name *kept = &known->names[place_of(known, &name)];
            if (kept->at == NULL && known->count++ == MAX_KNOWN)
                return false;
            name.kind = kept->kind | kind;
            *kept = name;
            if (kind == FORMATTING && is_letter(*name.at))
                known->formatting_letters |= 1u << ((*name.at | 0x20) - 'a');
        }
        if (at < size && names[at] == '\n')
            kind = (uint8_t)(kind << 1);
        start = at + 1;
    }
    return true;
}

/* Tokens. */

static size_t after_value(const Markup *html, size_t at)
{
    uint8_t first = byte_at(html, at);
    if (first != '"' && first != '\'')
        return skip_to(html, at, SPACE | BRACKET);
    size_t end = find(html, at + 1, first);
    return end < html->size ? end + 1 : end;
}

/* The end of the attribute that begins here, white space before it included; here if there is none. */
static size_t after_attribute(const Markup *html, size_t at)
{
    size_t start = skip(html, at, SPACE | SLASH);
    start += byte_at(html, start) == '=';
    size_t end = skip_to(html, start, SPACE | SLASH | BRACKET | EQUALS);
    if (end == start)
        return at;
    size_t equals = skip(html, end, SPACE);
    return byte_at(html, equals) == '=' ? after_value(html, skip(html, equals + 1, SPACE)) : end;
}

static void read_tag(const Markup *html, const Known *known, size_t at, Token *token)
{
    const size_t start = at;
    uint32_t hash = 2166136261u;
    for (; at < html->size && !(classes[html->at[at]] & (SPACE | SLASH | BRACKET)); at++)
        hash = hashed(hash, html->at[at]);
    token->name = (Name){html->at + start, (uint32_t)(at - start), hash, 0};
    token->name.kind = kind_of(known, &token->name);
    token->attributes = 0;
    for (size_t after; (after = after_attribute(html, at)) > at; at = after)
        token->attributes++;
    token->end = skip(html, at, SPACE | SLASH);
}

static size_t after_comment(const Markup *html, size_t body)
{
    const uint8_t *at = html->at;
    if (byte_at(html, body) == '>')
        return body + 1;
    if (byte_at(html, body) == '-' && byte_at(html, body + 1) == '>')
        return body + 2;
    for (size_t end = find(html, body, '>'); end < html->size; end = find(html, end + 1, '>')) {
        size_t dash = end - (end > body && at[end - 1] == '!');
        if (dash >= body + 2 && at[dash - 1] == '-' && at[dash - 2] == '-')
            return end + 1;
    }
    return html->size;
}

/* The next token from here on; false if there is none. */
static bool next_token(const Markup *html, const Known *known, size_t at, Token *token)
{
    for (at = find(html, at, '<'); at < html->size; at = find(html, at + 1, '<')) {
        uint8_t next = byte_at(html, at + 1);
        token->start = at;
        token->closes = next == '/';
        if (is_letter(next) || (next == '/' && is_letter(byte_at(html, at + 2)))) {
            read_tag(html, known, at + 1 + token->closes, token);
            return true;
        }
        if (next != '!' && next != '?' && next != '/')
            continue;
        token->name = (Name){0};
        bool is_comment = next == '!' && byte_at(html, at + 2) == '-' && byte_at(html, at + 3) == '-';
        token->end = is_comment ? after_comment(html, at + 4) : find(html, at + 2, '>');
        return true;
    }
    return false;
}

/* What an element holds that is no markup. */

static size_t end_of_raw_text(const Markup *html, size_t at, const Name *name)
{
    for (at = find(html, at, '<'); at < html->size; at = find(html, at + 1, '<')) {
        if (byte_at(html, at + 1) != '/' || html->size - at - 2 <= name->size)
            continue;
        uint32_t same = 0;
        while (same < name->size && lower(html->at[at + 2 + same]) == lower(name->at[same]))
            same++;
        uint8_t next = classes[html->at[at + 2 + same]];
        if (same == name->size && next & (SPACE | VERTICAL_TAB | SLASH | BRACKET))
            return at;
    }
    return html->size;
}

static bool is_cdata(const Markup *html, const Token *token)
{
    return token->end - token->start >= 9 && memcmp(html->at + token->start, "<![CDATA[", 9) == 0;
}

static size_t end_of_cdata(const Markup *html, size_t from)
{
    for (size_t end = find(html, from, '>'); end < html->size; end = find(html, end + 1, '>'))
        if (end >= from + 2 && html->at[end - 1] == ']' && html->at[end - 2] == ']')
            return end - 2;
    return html->size;
}

/* The walk. */

static void open_one(Open *open, const Name *name)
{
    open->at[open->count++] = *name;
    open->foreign += (name->kind & FOREIGN) != 0;
}

static void close_down_to(Open *open, uint64_t count)
{
    while (open->count > count)
        open->foreign -= (open->at[--open->count].kind & FOREIGN) != 0;
}

static uint64_t close_one(Open *open, const Name *name, const Name *table)
{
    bool is_cell = name->kind & CELL;
    if (is_cell)
        name = table;
    bool is_link = name->size == 1 && lower(*name->at) == 'a';
    uint8_t walls = name->kind & SPECIAL || is_link ? WALL : SPECIAL;
    uint64_t steps = 0;
    for (uint64_t place = open->count; place-- > 0; steps++) {
        if (is_same(&open->at[place], name)) {
            close_down_to(open, place + is_cell);
            break;
        }
        if (open->at[place].kind & walls)
            break;
    }
    return steps;
}

/* `at` becomes the place of what is found. `open` has room for one more than `max_depth`. */
static int walk(const Markup *html, const Known *known, const Limits *limits, uint64_t max_depth, Open *open,
                size_t *at)
{
    Name table = name_of((const uint8_t *)"table", 5);
    table.kind = kind_of(known, &table);
    Token token;
    size_t deaf_until = 0;
    uint64_t steps = 0, names = 0;
    for (size_t position = 0; next_token(html, known, position, &token);) {
        const Name *name = &token.name;
        bool is_heard = token.start >= deaf_until;
        position = token.end;
        *at = token.start;
        /* So many that they may be too many different ones: that is too rare to be counted here. */
        names += 1 + (name->size > 0 ? token.attributes : 0);
        if (names > limits->names)
            return UNTOLD;
        if (name->size == 0) {
            if (is_heard && open->foreign && is_cdata(html, &token))
                deaf_until = end_of_cdata(html, position);
        } else if (token.closes) {
            steps += is_heard ? close_one(open, name, &table) : 0;
        } else if (token.attributes >= limits->attributes) {
            return TOO_MANY_ATTRIBUTES;
        } else if (name->kind & RAW_TEXT && !open->foreign) {
            position = end_of_raw_text(html, position, name);
        } else if (name->kind & RAW_TEXT) {
            open_one(open, name);
            if (is_heard)
                deaf_until = end_of_raw_text(html, position, name);
        } else if (name->kind & CELL) {
            steps += close_one(open, name, &table);
        } else if (!(name->kind & NEVER_DEEP) && !(open->foreign && html->at[token.end - 1] == '/')) {
            open_one(open, name);
        }
        if (open->count > max_depth || steps > limits->steps)
            return TOO_DEEP;
    }
    return HARMLESS;
}

static int walked(const Markup *html, const Known *known, const Limits *limits, uint64_t max_depth, size_t *at)
{
    Open open = {malloc((max_depth + 1) * sizeof *open.at), 0, 0};
    if (open.at == NULL)
        return UNTOLD;
    int found = walk(html, known, limits, max_depth, &open, at);
    free(open.at);
    return found;
}

static bool is_formatting(const Markup *html, const Known *known, size_t at)
{
    uint8_t first = byte_at(html, at);
    if (!is_letter(first) || !(known->formatting_letters >> ((first | 0x20) - 'a') & 1))
        return false;
    size_t end = at;
    while (end < html->size && end - at < 16 && is_letter(html->at[end]))
        end++;
    if (end == html->size || !(classes[html->at[end]] & (SPACE | VERTICAL_TAB | SLASH)))
        return false;
    Name name = name_of(html->at + at, (uint32_t)(end - at));
    return kind_of(known, &name) & FORMATTING;
}

/* Where the last tag is that a page may have, if there are more: `tags` counts them up to the first too many. */
static size_t count_tags(const Markup *html, uint64_t most, uint64_t *tags)
{
    size_t last = 0;
    for (size_t at = find(html, 0, '<'); at < html->size && *tags <= most; at = find(html, at + 1, '<'))
        if (++*tags == most)
            last = at;
    return last;
}

static bool is_rebuilt(const Markup *html, const Known *known, uint64_t tags, uint64_t harmless)
{
    uint64_t found = 0;
    for (size_t at = find(html, 0, '<'); at < html->size; at = find(html, at + 1, '<'))
        found += is_formatting(html, known, at + 1);
    return found * tags > harmless;
}

/* What is to be done about a page, and where in it; UNTOLD where only Python can say. `names` as in `know`. */
EXPORT int kernel_bounds(const uint8_t *page, size_t size, const Limits *limits, const uint8_t *names,
                         size_t names_size, size_t *at)
{
    const Markup html = {page, size};
    Known known;
    uint64_t tags = 0;
    *at = count_tags(&html, limits->tags, &tags);
    if (tags > limits->tags)
        return TOO_MANY_TAGS;
    if (tags <= limits->harmless_tags && size <= limits->harmless_chars)
        return HARMLESS;
    if (size > UINT32_MAX || !know(&known, names, names_size))
        return UNTOLD;
    if (tags > limits->harmless_tags && is_rebuilt(&html, &known, tags, limits->harmless_rebuilds))
        return REBUILT;
    if (tags > limits->shallow_tags)
        return walked(&html, &known, limits, limits->depth, at);
    if (size <= limits->harmless_chars)
        return HARMLESS;
    /* Python walks over such a page only if something in it looks like a tag with too many attributes. Looking for that
     * is dearer than the walk, and needless: whatever the walk finds of this kind looks like it, too. */
    int found = walked(&html, &known, limits, tags, at);
    return found == TOO_DEEP ? UNTOLD : found;
}
