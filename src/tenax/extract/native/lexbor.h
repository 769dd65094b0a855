/* The tree of a page in the parser, lexbor, which is a part of selectolax. Only this header and the files that include
 * it know the parser, and they use functions that it exports. Only the place of a text has no function: it is searched
 * in a sample when the library is loaded. */
#ifndef TENAX_LEXBOR_H
#define TENAX_LEXBOR_H

#include "dom.h"

typedef struct LexborAttribute LexborAttribute;

/* Python finds them, in this order. */
typedef struct {
    uintptr_t (*tag)(LexborNode *node);
    unsigned (*type)(LexborNode *node);
    LexborNode *(*parent)(LexborNode *node);
    LexborNode *(*first_child)(LexborNode *node);
    LexborNode *(*next)(LexborNode *node);
    void (*remove)(LexborNode *node);
    unsigned (*set_text)(LexborNode *node, const uint8_t *at, size_t size);
    LexborAttribute *(*first_attribute)(LexborNode *element);
    LexborAttribute *(*next_attribute)(LexborAttribute *attribute);
    const uint8_t *(*attribute_name)(LexborAttribute *attribute, size_t *size);
    const uint8_t *(*attribute_value)(LexborAttribute *attribute, size_t *size);
    const uint8_t *(*string)(const void *string);
    size_t (*string_size)(const void *string);
} Lexbor;

extern Lexbor lexbor;

/* Where a text node has its string, in bytes. */
extern size_t lexbor_text_offset;

/* Our numbers of its tags; TAG_unknown where Python gave none, or for a number beyond these. */
#define LEXBOR_TAGS 1024
extern uint8_t lexbor_tags[LEXBOR_TAGS];

/* The number of one of our tags. */
uint32_t number_of_tag(uint32_t tag);

/* As in the DOM standard. */
enum { LEXBOR_ELEMENT = 1, LEXBOR_TEXT = 3 };

/* Our tag of a node. */
static inline uint32_t lexbor_tag(LexborNode *node)
{
    uintptr_t number = lexbor.tag(node);
    uint32_t tag = number < LEXBOR_TAGS ? lexbor_tags[number] : TAG_unknown;
    if (tag == TAG_unknown && lexbor.type(node) != LEXBOR_ELEMENT)
        return TAG_other;
    return tag;
}

/* The text of a text node; `at` is NULL where it has none. */
static inline Text lexbor_text(LexborNode *node)
{
    const void *string = (const uint8_t *)node + lexbor_text_offset;
    const uint8_t *at = lexbor.string(string);
    return at != NULL ? text_of(at, lexbor.string_size(string)) : (Text){NULL, 0};
}

static inline Text lexbor_value(LexborAttribute *attribute)
{
    size_t size = 0;
    const uint8_t *at = lexbor.attribute_value(attribute, &size);
    return at != NULL ? text_of(at, size) : (Text){NULL, 0};
}

/* The node after this one and those below it, below `root`; NULL after the last. */
static inline LexborNode *lexbor_next_beside(const LexborNode *root, LexborNode *node)
{
    LexborNode *next = NULL;
    while (node != root && node != NULL && (next = lexbor.next(node)) == NULL)
        node = lexbor.parent(node);
    return next;
}

#endif
