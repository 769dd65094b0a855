/* Which author and date clauses may match anything in a page: `metadata.authors`.
 *
 * Python searches the page with a selector that has one clause for each; a clause that cannot match is left out. So
 * a false positive is allowed here, such as a word in the other case, but a false negative is not. */
#include "links.h"

/* The bits of the clauses: first those of authors.AUTHOR_SELECTORS, then those of authors.DATE_SELECTORS. */
#define AUTHOR_BIT(is_there, clause) ((uint32_t)(is_there) << AUTHOR_SELECTOR_##clause)
#define DATE_BIT(is_there, clause) ((uint32_t)(is_there) << (AUTHOR_SELECTOR_COUNT + DATE_SELECTOR_##clause))

#define SEEN_CLASSES 32

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
        return AUTHOR_BIT(is_at(at, end, "author"), class_author_i);
    case 'b':
        return AUTHOR_BIT(is_at(at, end, "byline"), class_byline_i);
    case 'd':
        return DATE_BIT(is_at(at, end, "date"), class_date_i);
    case 'p':
        return DATE_BIT(is_at(at, end, "publi"), class_publi_i) | DATE_BIT(is_at(at, end, "posted"), class_posted_i);
    default:
        return AUTHOR_BIT(is_at(at, end, "username"), class_username_i);
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

/* Whether a class was examined on this page: most elements share one of a few. */
static bool is_seen(Text seen[SEEN_CLASSES], Text class)
{
    if (class.size == 0)
        return true;
    Text *last = &seen[(class.size + class.at[0] + class.at[class.size - 1] * 2u) % SEEN_CLASSES];
    if (last->size == class.size && memcmp(last->at, class.at, class.size) == 0)
        return true;
    *last = class;
    return false;
}

static uint32_t item_clauses(Text item)
{
    return AUTHOR_BIT(contains_ignoring_case(item, "author"), itemprop_author) |
           DATE_BIT(contains_ignoring_case(item, "datepublished"), itemprop_datePublished) |
           DATE_BIT(contains_ignoring_case(item, "datecreated"), itemprop_dateCreated);
}

static bool leads_to_author(Text href)
{
    const uint8_t *at = href.at, *end = href.at + href.size;
    while (at < end && (at = memchr(at, '/', (size_t)(end - at))) != NULL)
        if (is_at(++at, end, "author"))
            return true;
    return false;
}

static uint32_t element_clauses(const Node *element, Text seen[SEEN_CLASSES])
{
    uint32_t clauses = DATE_BIT(element->tag == TAG_time, time);
    for EACH_ATTRIBUTE(element, one)
        switch (one->name) {
        case NAME_class:
            clauses |= is_seen(seen, value_of(one)) ? 0 : class_clauses(value_of(one));
            break;
        case NAME_itemprop:
            clauses |= item_clauses(value_of(one));
            break;
        case NAME_rel:
            clauses |= AUTHOR_BIT(contains_ignoring_case(value_of(one), "author"), rel_author);
            break;
        case NAME_href: case NAME_xlink_href:
            /* In a selector, the links of a drawing have an href too. */
            clauses |= AUTHOR_BIT(element->tag == TAG_a && leads_to_author(value_of(one)), a_href_author);
            break;
        default:
            break;
        }
    return clauses;
}

uint32_t byline_clauses(Page *page)
{
    uint32_t clauses = 0;
    Text seen[SEEN_CLASSES] = {{NULL, 0}};
    const Node *root = page->nodes.at, *end = end_of(root);
    for (const Node *node = root; node < end; node = attributes_end(node)) {
        if (!is_text(node))
            clauses |= element_clauses(node, seen);
        if (node->tag == TAG_script)
            ADD(&page->arena, page->scripts, (uint32_t)(node - root));
    }
    return clauses;
}
