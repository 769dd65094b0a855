/* See dom.h. */
#include "lexbor.h"

#define LONGEST_NAME 13

/* Prefetch distance, before a node is read. The parser allocated nodes and attributes in the order of the page, so the
 * next ones are close behind in memory. */
#define AHEAD_BYTES 2048
#define AHEAD_LINES 6
#define LINE_BYTES 64

#define SEEN_NAMES 64       /* of attributes, at once */
#define NAME_DISTANCE 64    /* the usual one in memory */

static const Text NAMES[NAME_COUNT] = {
#define NAME_TEXT(name, text) [NAME_##name] = {(const uint8_t *)text, sizeof text - 1},
    EACH_NAME(NAME_TEXT)
#undef NAME_TEXT
};

/* The first name of each length. */
static const uint8_t FIRST_NAMES[LONGEST_NAME + 2] = {
    NAME_id, NAME_id, NAME_id, NAME_src, NAME_href, NAME_class, NAME_hidden, NAME_content, NAME_itemprop,
    NAME_http_equiv, NAME_http_equiv, NAME_aria_hidden, NAME_data_lazy_src, NAME_data_lazy_src, NAME_COUNT,
};

const char *name_of_attribute(uint32_t name) { return (const char *)NAMES[name].at; }

static uint32_t find_name(const uint8_t *at, size_t size)
{
    if (size > LONGEST_NAME)
        return NAME_NONE;
    for (uint32_t name = FIRST_NAMES[size]; name < FIRST_NAMES[size + 1]; name++)
        if (NAMES[name].at[0] == at[0] && memcmp(NAMES[name].at, at, size) == 0)
            return name;
    return NAME_NONE;
}

static void prefetch_nodes(const LexborNode *node)
{
    for (uintptr_t line = 0; line < AHEAD_LINES; line++)
        __builtin_prefetch((const void *)((uintptr_t)node + AHEAD_BYTES + line * LINE_BYTES));
}

/* The name of an attribute that was seen on this page: the parser keeps each name once. */
typedef struct {
    const uint8_t *at;
    uint32_t size;
    uint32_t name;
} SeenName;

typedef struct {
    Arena *arena;
    Nodes *nodes;
    SeenName seen[SEEN_NAMES];
} TreeReader;

static uint32_t name_of(TreeReader *reader, LexborAttribute *attribute)
{
    size_t size = 0;
    const uint8_t *at = lexbor.attribute_name(attribute, &size);
    SeenName *seen = &reader->seen[(uintptr_t)at / NAME_DISTANCE % SEEN_NAMES];
    if (seen->at != at || seen->size != size)
        *seen = (SeenName){at, (uint32_t)size, find_name(at, size)};
    return seen->name;
}

static void add_attributes(TreeReader *reader, LexborNode *element)
{
    Nodes *nodes = reader->nodes;
    uint32_t owner = nodes->count - 1;
    for (LexborAttribute *one = lexbor.first_attribute(element); one != NULL; one = lexbor.next_attribute(one)) {
        uint32_t name = name_of(reader, one);
        if (name == NAME_NONE)
            continue;
        Text value = lexbor_value(one);
        ADD(reader->arena, *nodes, ((Attribute){.at = value.at, .size = value.size, .name = name}));
    }
    nodes->at[owner].attributes = nodes->count - 1 - owner;
}

/* Adds a node without its children. */
static void add_node(TreeReader *reader, LexborNode *node, uint32_t parent)
{
    Nodes *nodes = reader->nodes;
    uint32_t tag = lexbor_tag(node), up = nodes->count - parent;
    if (nodes->count >= MAX_NODES)
        page_fail(reader->arena, "too many nodes");
    if (tag == TAG_text) {
        Text text = lexbor_text(node);
        if (text.at != NULL) {
            ADD(reader->arena, *nodes, ((Node){.at = text.at, .size = text.size, .up = up, .tag = TAG_text}));
            return;
        }
        tag = TAG_other;
    }
    ADD(reader->arena, *nodes, ((Node){.span = 1, .up = up, .tag = tag}));
    if (tag != TAG_other)
        add_attributes(reader, node);
}

/* An element is complete; returns the number of its parent. */
static uint32_t end_element(Nodes *nodes, uint32_t number)
{
    nodes->at[number].span = nodes->count - number;
    return number - nodes->at[number].up;
}

void read_tree(Arena *arena, LexborNode *root, Nodes *nodes)
{
    TreeReader reader = {.arena = arena, .nodes = nodes};
    uint32_t parent = 0;
    *nodes = (Nodes){0};
    for (LexborNode *node = root, *next;; node = next) {
        uint32_t number = nodes->count;
        prefetch_nodes(node);
        add_node(&reader, node, parent);
        if (!is_text(&nodes->at[number])) {
            next = lexbor.first_child(node);
            if (next != NULL) {
                parent = number;
                continue;
            }
            end_element(nodes, number);
        }
        if (number == 0)
            return;
        while ((next = lexbor.next(node)) == NULL) {
            number = parent;
            parent = end_element(nodes, number);
            if (number == 0)
                return;
            node = lexbor.parent(node);
        }
    }
}

Text get_attribute(const Node *node, uint32_t name)
{
    for EACH_ATTRIBUTE(node, one)
        if (one->name == name)
            return value_of(one);
    return (Text){NULL, 0};
}
