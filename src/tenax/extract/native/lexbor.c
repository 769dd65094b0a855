/* Takes the parser's functions and tag numbers when the library is loaded, and tries them on a sample. Nothing is read
 * at an address before it is certain that it can be read, so another parser is refused without a crash. */
#define _POSIX_C_SOURCE 200809L /* pipe */
#include "lexbor.h"

#include <unistd.h>

#include "markdown.h"

#define EXPORT __attribute__((visibility("default")))

/* Of a sample. */
#define MAX_NODES_WALKED 200
#define MAX_ATTRIBUTES_WALKED 50
#define MAX_TEXTS 16
#define MAX_STRING_BYTES 65536

#define MAX_OFFSET 512      /* of a string in a text node */
#define STRING_BYTES 32     /* at most of what its functions read */
#define COPIED_BYTES 1024   /* at a time */

Lexbor lexbor;
size_t lexbor_text_offset;
uint8_t lexbor_tags[LEXBOR_TAGS];
static uint32_t tag_numbers[TAG_COUNT];

static const char *const TAG_NAMES[TAG_COUNT] = {
    "unknown", "other", "text",
#define TAG_NAME(name) [TAG_##name] = #name,
    EACH_TAG(TAG_NAME)
#undef TAG_NAME
};
#define FIRST_TAG (TAG_text + 1)

EXPORT void native_set_lexbor(const Lexbor *functions) { lexbor = *functions; }

/* The names of our tags, separated by spaces. */
EXPORT const char *native_tags(void)
{
#define TAG_WORD(name) #name " "
    return EACH_TAG(TAG_WORD);
#undef TAG_WORD
}

/* Takes the parser's numbers of these tags; false if they cannot be right. */
EXPORT bool native_set_tags(const uint64_t *numbers)
{
    memset(lexbor_tags, TAG_unknown, sizeof lexbor_tags);
    for (uint32_t tag = FIRST_TAG; tag < TAG_COUNT; tag++) {
        uint64_t number = *numbers++;
        if (number == 0 || number >= LEXBOR_TAGS || lexbor_tags[number] != TAG_unknown)
            return false;
        lexbor_tags[number] = (uint8_t)tag;
        tag_numbers[tag] = (uint32_t)number;
    }
    return true;
}

uint32_t number_of_tag(uint32_t tag) { return tag_numbers[tag]; }

/* A sample while it is examined; its pipe is for `is_readable`. */
typedef struct {
    int ends[2];
    LexborNode *root;
    LexborNode *texts[MAX_TEXTS];
    uint32_t text_count;
} Sample;

/* Whether memory can be read: the system copies it, and reports an address that is none. */
static bool is_readable(const Sample *sample, const void *memory, size_t size)
{
    uint8_t copy[COPIED_BYTES];
    if (memory == NULL || size > MAX_STRING_BYTES)
        return false;
    for (const uint8_t *at = memory; size > 0;) {
        size_t piece = size < sizeof copy ? size : sizeof copy;
        if (write(sample->ends[1], at, piece) != (ssize_t)piece ||
            read(sample->ends[0], copy, piece) != (ssize_t)piece)
            return false;
        at += piece;
        size -= piece;
    }
    return true;
}

static bool are_attributes_readable(const Sample *sample, LexborNode *element)
{
    uint32_t count = 0;
    for (LexborAttribute *one = lexbor.first_attribute(element); one != NULL; one = lexbor.next_attribute(one)) {
        size_t size = 0;
        const uint8_t *name = lexbor.attribute_name(one, &size);
        if (++count > MAX_ATTRIBUTES_WALKED || !is_readable(sample, name, size))
            return false;
        const uint8_t *value = lexbor.attribute_value(one, &size);
        if (value != NULL && !is_readable(sample, value, size))
            return false;
    }
    return true;
}

/* Collects the texts; whether the tree is a small one of strings that can be read. */
static bool walk_sample(Sample *sample)
{
    uint32_t count = 0;
    for (LexborNode *node = sample->root, *next; node != NULL; node = next) {
        unsigned type = lexbor.type(node);
        if (++count > MAX_NODES_WALKED || (type == LEXBOR_TEXT && sample->text_count == MAX_TEXTS))
            return false;
        if (type == LEXBOR_TEXT)
            sample->texts[sample->text_count++] = node;
        else if (type == LEXBOR_ELEMENT && !are_attributes_readable(sample, node))
            return false;
        next = lexbor.first_child(node);
        if (next == NULL)
            next = lexbor_next_beside(sample->root, node);
    }
    return true;
}

/* Whether each text node has its text at this offset. `expected` are those texts, each terminated by a zero. */
static bool has_texts_at(const Sample *sample, size_t offset, const char *expected)
{
    for (uint32_t n = 0; n < sample->text_count; n++, expected += strlen(expected) + 1) {
        const void *string = (const uint8_t *)sample->texts[n] + offset;
        if (!is_readable(sample, string, STRING_BYTES) || lexbor.string_size(string) != strlen(expected))
            return false;
        const uint8_t *at = lexbor.string(string);
        if (!is_readable(sample, at, strlen(expected)) || memcmp(at, expected, strlen(expected)) != 0)
            return false;
    }
    return true;
}

/* The one tag number of all text nodes. */
static bool set_text_tag(const Sample *sample)
{
    uintptr_t number = lexbor.tag(sample->texts[0]);
    for (uint32_t n = 0; n < sample->text_count; n++)
        if (lexbor.tag(sample->texts[n]) != number)
            return false;
    if (number == 0 || number >= LEXBOR_TAGS || lexbor_tags[number] != TAG_unknown)
        return false;
    lexbor_tags[number] = TAG_text;
    return true;
}

static const char *examine_sample(Sample *sample, const char *expected, uint32_t count)
{
    if (!walk_sample(sample))
        return "its tree of a sample cannot be read";
    if (sample->text_count != count)
        return "it has other texts in a sample";
    uint32_t found = 0;
    for (size_t offset = 0; offset < MAX_OFFSET; offset += sizeof(void *))
        if (has_texts_at(sample, offset, expected)) {
            lexbor_text_offset = offset;
            found++;
        }
    if (found != 1)
        return found ? "the text of its nodes is in several places" : "the text of its nodes is in an unknown place";
    return set_text_tag(sample) ? NULL : "its text nodes have unknown numbers";
}

/* Finds where text nodes have their text, in a sample of which these are all; NULL, or why that failed. */
EXPORT const char *native_find_texts(LexborNode *root, const char *expected, uint32_t count)
{
    Sample sample = {.root = root};
    if (root == NULL || pipe(sample.ends) != 0)
        return "a sample cannot be examined";
    const char *failure = examine_sample(&sample, expected, count);
    close(sample.ends[0]);
    close(sample.ends[1]);
    return failure;
}

static void put_start_tag(Buffer *buffer, const Node *node)
{
    put_char(buffer, '<');
    put_literal(buffer, TAG_NAMES[node->tag]);
    for EACH_ATTRIBUTE(node, one) {
        put_char(buffer, ' ');
        put_literal(buffer, name_of_attribute(one->name));
        if (one->at == NULL)
            continue;
        put_literal(buffer, "=\"");
        put_text(buffer, value_of(one));
        put_char(buffer, '"');
    }
    put_char(buffer, '>');
}

static void put_tree(Buffer *buffer, const Node *root)
{
    for (const Node *node = root, *end = end_of(root), *next; node < end; node = next) {
        const Node *open = is_text(node) ? parent_of(node) : node;
        next = attributes_end(node);
        if (is_text(node))
            put_text(buffer, node_text(node));
        else
            put_start_tag(buffer, node);
        for (; open != NULL && end_of(open) == next; open = parent_of(open)) {
            put_literal(buffer, "</");
            put_literal(buffer, TAG_NAMES[open->tag]);
            put_char(buffer, '>');
        }
    }
}

/* The tree that is read, as markup, for comparison. */
EXPORT size_t native_write_tree(Page *page, LexborNode *root, const uint8_t **answer)
{
    arena_reset(&page->arena);
    if (setjmp(page->arena.broken))
        return 0;
    read_tree(&page->arena, root, &page->nodes);
    Buffer buffer = {.arena = &page->arena};
    put_tree(&buffer, page->nodes.at);
    Pack pack = pack_begin(&page->arena, buffer.count + MARKER_BYTES);
    pack_text(&pack, written(&buffer, 0));
    *answer = pack.at;
    return pack.size;
}
