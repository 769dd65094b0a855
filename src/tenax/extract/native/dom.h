/* The tree of a page in our own memory: read from the parser once, in the order of the page.
 *
 * One list has all nodes. Behind an element are its attributes, then its children, each with all that is in it. So
 * nodes find each other by distances, and need 16 bytes each. Strings stay in the parser's tree. */
#ifndef TENAX_DOM_H
#define TENAX_DOM_H

#include "memory.h"
#include "tags.h"

/* Text in UTF-8, not zero-terminated; `at` is NULL where there is none. */
typedef struct {
    const uint8_t *at;
    uint32_t size;
} Text;

typedef LIST(Text) Texts;

/* The attributes that are read, by length; the tree has no others. */
#define EACH_NAME(NAME) \
    NAME(id, "id") NAME(src, "src") NAME(alt, "alt") NAME(rel, "rel") NAME(href, "href") NAME(type, "type") \
    NAME(name, "name") NAME(role, "role") NAME(lang, "lang") NAME(class, "class") NAME(style, "style") \
    NAME(width, "width") NAME(start, "start") NAME(hidden, "hidden") NAME(height, "height") \
    NAME(content, "content") NAME(colspan, "colspan") NAME(rowspan, "rowspan") NAME(itemprop, "itemprop") \
    NAME(property, "property") NAME(xml_lang, "xml:lang") NAME(data_src, "data-src") NAME(data_url, "data-url") \
    NAME(http_equiv, "http-equiv") NAME(xlink_href, "xlink:href") NAME(aria_hidden, "aria-hidden") \
    NAME(data_lazy_src, "data-lazy-src") NAME(data_original, "data-original")

#define NAME_NUMBER(name, text) NAME_##name,
enum { NAME_NONE, EACH_NAME(NAME_NUMBER) NAME_COUNT };
#undef NAME_NUMBER

typedef struct {
    union {
        const uint8_t *at;          /* of a text, or of the value of an attribute */
        struct {
            uint32_t span;          /* of an element: the number of nodes and attributes that it is, itself included */
            uint32_t attributes;
        };
    };
    uint32_t size;                  /* of the text or the value */
    union {
        struct {
            uint32_t up : 24;       /* the distance to the parent; 0 for the root */
            uint32_t tag : 8;       /* see tags.h */
        };
        uint32_t name;              /* of an attribute */
    };
} Node;

typedef Node Attribute;

#define MAX_NODES ((uint32_t)1 << 24)
_Static_assert(sizeof(Node) == 16, "a page may have half a million");
_Static_assert(TAG_COUNT < 256, "a tag is a byte");

typedef LIST(Node) Nodes;

static inline Text text_of(const uint8_t *at, size_t size)
{
    /* Bodies are limited far below this. */
    return (Text){at, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size};
}

static inline bool is_text(const Node *node) { return node->tag == TAG_text; }

/* The text of a text node; `at` is NULL for anything else, and for an empty text node. */
static inline Text node_text(const Node *node)
{
    return is_text(node) ? (Text){node->at, node->size} : (Text){NULL, 0};
}

static inline Text value_of(const Attribute *attribute) { return (Text){attribute->at, attribute->size}; }

/* The end of a node with all that is in it. */
static inline const Node *end_of(const Node *node) { return node + (is_text(node) ? 1 : node->span); }

/* The end of its attributes, which begin right after it: where the first child is, if it has one. */
static inline const Node *attributes_end(const Node *node) { return node + 1 + (is_text(node) ? 0 : node->attributes); }

#define EACH_ATTRIBUTE(node, one) \
    (const Attribute *one = (node) + 1, *one##_end = attributes_end(node); one < one##_end; one++)

/* These are NULL where there is none. */
static inline const Node *parent_of(const Node *node) { return node->up ? node - node->up : NULL; }

static inline const Node *first_child(const Node *node)
{
    const Node *child = attributes_end(node);
    return child < end_of(node) ? child : NULL;
}

static inline const Node *next_of(const Node *node)
{
    const Node *parent = node - node->up, *next = end_of(node);
    return next < end_of(parent) ? next : NULL;
}

/* The value of an attribute; `at` is NULL where there is none, and where the attribute has none, as in
 * <input disabled>: selectolax returns None for both. */
Text get_attribute(const Node *node, uint32_t name);

const char *name_of_attribute(uint32_t name);

static inline bool text_is(Text text, const char *literal)
{
    size_t size = strlen(literal);
    return text.at != NULL && text.size == size && memcmp(text.at, literal, size) == 0;
}

/* Reads the tree below a node of the parser. */
typedef struct LexborNode LexborNode;
void read_tree(Arena *arena, LexborNode *root, Nodes *nodes);

#endif
