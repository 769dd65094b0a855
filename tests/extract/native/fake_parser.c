/* A parser whose nodes have any layout: it exports the functions of lexbor that the native code calls, and builds trees
 * node by node. What a layout does not use is filled with an address that cannot be read, or with anything else. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BYTES 1024
#define STRING_WORDS 8

enum { ELEMENT = 1, TEXT = 3, COMMENT = 8, TEXT_TAG = 2, COMMENT_TAG = 4, INLINE_BYTES = 40 };

/* How it differs from an ordinary parser, one bit each. */
enum {
    STRING_BEHIND_POINTER = 1,      /* a text node has the address of its string */
    STRING_TWICE = 2,               /* and a copy of it behind it */
    SHORT_STRINGS_INLINE = 4,       /* within the string itself */
    LENGTH_FIRST = 8,
    VALUE_INLINE = 16,              /* an attribute has its string, not the address of one */
    OTHER_TYPES = 32,
    OTHER_TEXT_TAG = 64,            /* that of an element */
    BAD_NAMES = 128,                /* names, values, texts are where nothing can be read */
    BAD_VALUES = 256,
    BAD_TEXTS = 512,
    CYCLE = 1024,                   /* a node that comes after itself */
    ATTRIBUTE_CYCLE = 2048,
    LONG_NAMES = 4096,              /* of a length that cannot be */
    NO_REMOVAL = 8192,
    NO_TRUNCATION = 16384,
};

typedef struct {
    size_t tag, type, parent, first_child, last_child, next, text, first_attribute;     /* of a node, in bytes */
    size_t name, value, next_attribute;                                                 /* of an attribute */
    uint64_t filling;
    uint64_t differs;
} Layout;

typedef uint8_t Node;

static Layout layout;
static Node *root, *current, *last_attribute;

static uint64_t *word(const Node *node, size_t offset) { return (uint64_t *)(uintptr_t)(node + offset); }
static void *pointer(const Node *node, size_t offset) { return (void *)(uintptr_t)*word(node, offset); }
static void set(Node *node, size_t offset, const void *value) { *word(node, offset) = (uint64_t)(uintptr_t)value; }
static bool is(uint64_t difference) { return layout.differs & difference; }

static Node *new_node(void)
{
    Node *node = aligned_alloc(64, NODE_BYTES);
    for (size_t n = 0; n < NODE_BYTES; n += sizeof(uint64_t))
        *word(node, n) = layout.filling;
    return node;
}

/* A string: its address and length, in either order, or its length and its letters. */
static void put_string(uint64_t *string, const char *letters)
{
    size_t size = strlen(letters), at = is(LENGTH_FIRST) ? 1 : 0;
    char *copy = memcpy(malloc(size + 1), letters, size + 1);
    if (is(SHORT_STRINGS_INLINE)) {
        string[0] = size;
        string[1] = (uint64_t)(uintptr_t)copy;
        if (size < INLINE_BYTES)
            memcpy(string + 1, letters, size + 1);
        return;
    }
    string[at] = (uint64_t)(uintptr_t)copy;
    string[1 - at] = size;
}

const uint8_t *lexbor_str_data_noi(const uint64_t *string)
{
    if (is(BAD_TEXTS))
        return (const uint8_t *)8;
    if (is(SHORT_STRINGS_INLINE))
        return string[0] < INLINE_BYTES ? (const uint8_t *)(string + 1) : (const uint8_t *)(uintptr_t)string[1];
    return (const uint8_t *)(uintptr_t)string[is(LENGTH_FIRST) ? 1 : 0];
}

size_t lexbor_str_length_noi(const uint64_t *string)
{
    return string[is(LENGTH_FIRST) || is(SHORT_STRINGS_INLINE) ? 0 : 1];
}

static void set_text(Node *node, const char *letters)
{
    if (is(STRING_BEHIND_POINTER)) {
        uint64_t *string = calloc(STRING_WORDS, sizeof *string);
        put_string(string, letters);
        set(node, layout.text, string);
        return;
    }
    put_string(word(node, layout.text), letters);
    if (is(STRING_TWICE))
        put_string(word(node, layout.text) + STRING_WORDS, letters);
}

uintptr_t lxb_dom_node_tag_id_noi(const Node *node) { return *word(node, layout.tag); }
Node *lxb_dom_node_parent_noi(const Node *node) { return pointer(node, layout.parent); }

Node *lxb_dom_node_next_noi(Node *node)
{
    Node *next = pointer(node, layout.next);
    return is(CYCLE) && next == NULL ? node : next;
}

unsigned lxb_dom_node_type_noi(const Node *node)
{
    return (unsigned)*word(node, layout.type) + (is(OTHER_TYPES) ? 16 : 0);
}

Node *lxb_dom_node_first_child_noi(const Node *node)
{
    return *word(node, layout.type) == ELEMENT ? pointer(node, layout.first_child) : NULL;
}

void lxb_dom_node_remove(Node *node)
{
    Node *parent = pointer(node, layout.parent), *after = pointer(node, layout.next);
    Node *before = pointer(parent, layout.first_child);
    if (is(NO_REMOVAL))
        return;
    if (before == node) {
        set(parent, layout.first_child, after);
    } else {
        while (pointer(before, layout.next) != node)
            before = pointer(before, layout.next);
        set(before, layout.next, after);
    }
    set(node, layout.parent, NULL);
    set(node, layout.next, NULL);
}

unsigned lxb_dom_node_text_content_set(Node *node, const char *letters, size_t size)
{
    char *copy = memcpy(malloc(size + 1), letters, size);
    copy[size] = 0;
    if (!is(NO_TRUNCATION))
        set_text(node, copy);
    free(copy);
    return 0;
}

Node *lxb_dom_element_first_attribute_noi(const Node *element) { return pointer(element, layout.first_attribute); }

Node *lxb_dom_element_next_attribute_noi(Node *attribute)
{
    Node *next = pointer(attribute, layout.next_attribute);
    return is(ATTRIBUTE_CYCLE) && next == NULL ? attribute : next;
}

const uint8_t *lxb_dom_attr_qualified_name(const Node *attribute, size_t *size)
{
    const char *name = is(BAD_NAMES) ? (const char *)8 : pointer(attribute, layout.name);
    *size = is(LONG_NAMES) ? (size_t)1 << 60 : is(BAD_NAMES) ? 5 : strlen(name);
    return (const uint8_t *)name;
}

const uint8_t *lxb_dom_attr_value_noi(const Node *attribute, size_t *size)
{
    const uint64_t *value = is(VALUE_INLINE) ? word(attribute, layout.value) : pointer(attribute, layout.value);
    if (value == NULL || (value[0] == 0 && value[1] == 0)) {
        *size = 0;
        return NULL;
    }
    *size = lexbor_str_length_noi(value);
    return is(BAD_VALUES) ? (const uint8_t *)8 : lexbor_str_data_noi(value);
}

static Node *add_node(uint64_t tag, uint64_t type)
{
    Node *node = new_node();
    *word(node, layout.tag) = tag;
    *word(node, layout.type) = type;
    set(node, layout.parent, current);
    set(node, layout.next, NULL);
    if (current == NULL)
        root = node;
    else if (pointer(current, layout.first_child) == NULL)
        set(current, layout.first_child, node);
    else
        set(pointer(current, layout.last_child), layout.next, node);
    if (current != NULL)
        set(current, layout.last_child, node);
    return node;
}

/* What Python calls: a new tree of this layout; its nodes in the order of the page; its root. */
void fake_begin(const Layout *given)
{
    layout = *given;
    root = current = last_attribute = NULL;
}

void fake_open(uint64_t tag)
{
    current = add_node(tag, ELEMENT);
    last_attribute = NULL;
    set(current, layout.first_child, NULL);
    set(current, layout.last_child, NULL);
    set(current, layout.first_attribute, NULL);
}

/* `value` is NULL for none. */
void fake_attribute(const char *name, const char *value)
{
    Node *attribute = new_node();
    set(attribute, layout.name, strdup(name));
    set(attribute, layout.next_attribute, NULL);
    uint64_t *string = calloc(STRING_WORDS, sizeof *string);
    if (value != NULL)
        put_string(string, value);
    if (is(VALUE_INLINE))
        memcpy(word(attribute, layout.value), string, STRING_WORDS * sizeof *string);
    else
        set(attribute, layout.value, value != NULL ? string : NULL);
    if (last_attribute == NULL)
        set(current, layout.first_attribute, attribute);
    else
        set(last_attribute, layout.next_attribute, attribute);
    last_attribute = attribute;
}

void fake_text(const char *text) { set_text(add_node(is(OTHER_TEXT_TAG) ? 7 : TEXT_TAG, TEXT), text); }
void fake_comment(const char *text) { set_text(add_node(COMMENT_TAG, COMMENT), text); }
void fake_close(void) { current = pointer(current, layout.parent); }
Node *fake_root(void) { return root; }
