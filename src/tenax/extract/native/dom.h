/* The tree of a page as built by lexbor: read only.
 *
 * The tree belongs to selectolax, which contains lexbor; we get the address of its root. `Node`, `Attribute` and the
 * types beside them mirror lexbor's own fields. When the library is loaded, Python compares them with what
 * selectolax and lexbor report for a small page, and does not use the library if they differ. */
#ifndef TENAX_DOM_H
#define TENAX_DOM_H

#include "memory.h"

/* Text in UTF-8, not zero-terminated; `at` is NULL where there is none. */
typedef struct {
    const uint8_t *at;
    uint32_t size;
} Text;

typedef LIST(Text) Texts;

typedef struct Node Node;
struct Node {
    void *events;
    uintptr_t tag;      /* see tags.h */
    uintptr_t prefix;
    uintptr_t space;
    void *document;
    Node *next;
    Node *previous;
    Node *parent;
    Node *first_child;
    Node *last_child;
    void *user;
    int type;
};

typedef LIST(Node *) Nodes;

enum { NODE_ELEMENT = 1, NODE_TEXT = 3 };

/* Mirrors what follows the node in lexbor's character data. */
typedef struct {
    Node node;
    const uint8_t *at;
    size_t size;
} CharacterData;

/* The value of an attribute, as lexbor stores it. */
typedef struct {
    const uint8_t *at;
    size_t size;
} Value;

typedef struct Attribute Attribute;
struct Attribute {
    Node node;              /* its tag is the number of the name without a prefix */
    uintptr_t upper_name;
    uintptr_t full_name;    /* the number of the name with its prefix; 0 without one */
    const Value *value;
    Node *owner;
    Attribute *next;
};

/* Mirrors what follows the node in lexbor's elements. */
typedef struct {
    Node node;
    uintptr_t upper_name, full_name;
    void *is_value;
    Attribute *first_attribute;
} Element;

/* The name of an attribute. Numbers of names unknown to lexbor are addresses of these. */
typedef struct {
    union {
        const uint8_t *at;
        uint8_t bytes[24];
    } letters;              /* in place if short */
    size_t size;
} Name;

/* lexbor's functions, found by Python: used when the library is loaded. */
typedef struct {
    Attribute *(*first_attribute)(Node *element);
    Attribute *(*next_attribute)(Attribute *attribute);
    const uint8_t *(*attribute_name)(Attribute *attribute, size_t *size);
    const uint8_t *(*attribute_value)(Attribute *attribute, size_t *size);
    const Name *(*name_by_number)(void *names, uintptr_t number);
} Lexbor;

/* Takes the functions, once, and reads the names that lexbor has numbers for. */
void native_set_lexbor(const Lexbor *functions);

/* Whether our view of an element's attributes equals lexbor's. */
bool native_attributes_match(Node *element);

#define KNOWN_NAMES 256
#define SHORT_NAME 16
extern Text known_names[KNOWN_NAMES];

static inline Text text_of(const uint8_t *at, size_t size)
{
    /* Bodies are limited far below this. */
    return (Text){at, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size};
}

/* The text of a text node; `at` is NULL for anything else, and for an empty text node. */
static inline Text node_text(const Node *node)
{
    if (node->type != NODE_TEXT)
        return (Text){NULL, 0};
    const CharacterData *data = (const CharacterData *)node;
    return text_of(data->at, data->size);
}

static inline Text name_of(const Attribute *attribute)
{
    uintptr_t number = attribute->full_name ? attribute->full_name : attribute->node.tag;
    if (number < KNOWN_NAMES)
        return known_names[number];
    const Name *name = (const Name *)number;
    return text_of(name->size > SHORT_NAME ? name->letters.at : name->letters.bytes, name->size);
}

static inline Text value_of(const Attribute *attribute)
{
    const Value *value = attribute->value;
    return value != NULL && value->at != NULL ? text_of(value->at, value->size) : (Text){NULL, 0};
}

/* Iterates over the attributes, from `one = NULL`: `while (each_attribute(node, &one, &name, &value))` */
static inline bool each_attribute(const Node *node, Attribute **one, Text *name, Text *value)
{
    if (*one != NULL)
        *one = (*one)->next;
    else if (node->type == NODE_ELEMENT)
        *one = ((const Element *)node)->first_attribute;
    if (*one == NULL)
        return false;
    *name = name_of(*one);
    *value = value_of(*one);
    return true;
}

/* Prefetch distance, before a node is visited. The parser allocated nodes and attributes in the order of the page,
 * so the next ones are close behind in memory. */
#define AHEAD_BYTES 2048
#define AHEAD_LINES 6
#define LINE_BYTES 64
static inline void prefetch_nodes(const Node *node)
{
    for (uintptr_t line = 0; line < AHEAD_LINES; line++)
        __builtin_prefetch((const void *)((uintptr_t)node + AHEAD_BYTES + line * LINE_BYTES));
}

/* The node after this one in document order, at or below `root`; NULL after the last. */
static inline Node *next_below(const Node *root, Node *node)
{
    if (node->first_child != NULL)
        return node->first_child;
    while (node != root && node->next == NULL)
        node = node->parent;
    return node == root ? NULL : node->next;
}

/* Whether an element has an attribute, by its lower-case name. `value->at` is NULL where it has no value, as in
 * <input disabled>; selectolax returns None for both. */
bool find_attribute(const Node *node, const char *name, Text *value);

/* The value of an attribute; `at` is NULL where there is none. */
Text get_attribute(const Node *node, const char *name);

static inline bool text_is(Text text, const char *literal)
{
    size_t size = strlen(literal);
    return text.at != NULL && text.size == size && memcmp(text.at, literal, size) == 0;
}

#endif
