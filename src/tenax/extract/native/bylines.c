/* Which author and date clauses may match anything in a page: `metadata.authors`.
 *
 * Python searches the page with a selector that has one clause for each; a clause that cannot match is left out. So
 * a false positive is allowed here, such as a word in the other case, but a false negative is not. */
#include "links.h"

/* The clauses of authors.AUTHOR_SELECTORS and authors.DATE_SELECTORS, in their order. */
enum { ITEM_AUTHOR, REL_AUTHOR, CLASS_BYLINE, CLASS_AUTHOR, CLASS_USERNAME, HREF_AUTHOR,
       TAG_OF_TIME, ITEM_PUBLISHED, ITEM_CREATED, CLASS_DATE, CLASS_PUBLI, CLASS_POSTED };

/* Whether a word is there, ignoring case. */
static bool is_at(const uint8_t *at, const uint8_t *end, const char *word)
{
    for (; *word != '\0'; word++, at++)
        if (at >= end || (*at | 0x20) != (uint8_t)*word)
            return false;
    return true;
}

static uint32_t word_clauses(const uint8_t *at, const uint8_t *end)
{
    switch (*at | 0x20) {
    case 'a':
        return (uint32_t)is_at(at, end, "author") << CLASS_AUTHOR;
    case 'b':
        return (uint32_t)is_at(at, end, "byline") << CLASS_BYLINE;
    case 'd':
        return (uint32_t)is_at(at, end, "date") << CLASS_DATE;
    case 'p':
        return (uint32_t)is_at(at, end, "publi") << CLASS_PUBLI | (uint32_t)is_at(at, end, "posted") << CLASS_POSTED;
    default:
        return (uint32_t)is_at(at, end, "username") << CLASS_USERNAME;
    }
}

/* The first two letters of these words; most of a class has neither. */
enum { FIRST = 1, SECOND = 2 };
static const uint8_t LETTERS[256] = {
    ['a'] = FIRST | SECOND, ['b'] = FIRST, ['d'] = FIRST, ['p'] = FIRST, ['u'] = FIRST | SECOND,
    ['A'] = FIRST | SECOND, ['B'] = FIRST, ['D'] = FIRST, ['P'] = FIRST, ['U'] = FIRST | SECOND,
    ['o'] = SECOND, ['s'] = SECOND, ['y'] = SECOND, ['O'] = SECOND, ['S'] = SECOND, ['Y'] = SECOND,
};

static uint32_t class_clauses(Text class)
{
    uint32_t clauses = 0, before = 0;
    for (const uint8_t *at = class.at, *end = class.at + class.size; at < end; at++) {
        uint32_t letter = LETTERS[*at];
        if (before & letter >> 1)
            clauses |= word_clauses(at - 1, end);
        before = letter & FIRST;
    }
    return clauses;
}

static uint32_t item_clauses(Text item)
{
    return (uint32_t)contains_ignoring_case(item, "author") << ITEM_AUTHOR |
           (uint32_t)contains_ignoring_case(item, "datepublished") << ITEM_PUBLISHED |
           (uint32_t)contains_ignoring_case(item, "datecreated") << ITEM_CREATED;
}

static bool leads_to_author(Text href)
{
    const uint8_t *at = href.at, *end = href.at + href.size;
    while (at < end && (at = memchr(at, '/', (size_t)(end - at))) != NULL)
        if (is_at(++at, end, "author"))
            return true;
    return false;
}

static uint32_t element_clauses(const Node *element)
{
    uint32_t clauses = element->tag == TAG_time ? 1u << TAG_OF_TIME : 0;
    Attribute *one = NULL;
    Text name, value;
    while (each_attribute(element, &one, &name, &value)) {
        if (text_is(name, "class"))
            clauses |= class_clauses(value);
        else if (text_is(name, "itemprop"))
            clauses |= item_clauses(value);
        else if (text_is(name, "rel"))
            clauses |= (uint32_t)contains_ignoring_case(value, "author") << REL_AUTHOR;
        /* In a selector, the links of a drawing have an href too. */
        else if (element->tag == TAG_a && (text_is(name, "href") || text_is(name, "xlink:href")))
            clauses |= (uint32_t)leads_to_author(value) << HREF_AUTHOR;
    }
    return clauses;
}

uint32_t byline_clauses(Page *page)
{
    uint32_t clauses = 0;
    for (Node *node = page->root; node != NULL; node = next_below(page->root, node)) {
        prefetch_nodes(node);
        if (node->type == NODE_ELEMENT)
            clauses |= element_clauses(node);
        if (node->tag == TAG_script)
            ADD(&page->arena, page->scripts, node);
    }
    return clauses;
}
