/* The links of a page in document order, each once, as written: `html.links`. */
#include "links.h"

#include "table.h"
#include "text.h"
#include "unicode.h"

#define MAX_FRAGMENT_CHARS (4 * LINKS_MAX_TEXT_CHARS)
#define MAX_CHARACTER_BYTES 4

typedef struct {
    Text href;
    uint32_t kind;              /* LINK_KIND_ */
    bool is_nofollow;
    Text text, rel;
    bool is_in_article;
} Link;

/* The attributes of an element that may link to other pages. */
typedef struct {
    Text href, rel, type;
} LinkAttributes;

static uint8_t lower_ascii(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte + 0x20 : byte; }

static bool begins_with(const uint8_t *at, const uint8_t *end, const char *lower, size_t size)
{
    if ((size_t)(end - at) < size)
        return false;
    for (size_t n = 0; n < size; n++)
        if (lower_ascii(at[n]) != (uint8_t)lower[n])
            return false;
    return true;
}

bool has_word(Text text, const char *word)
{
    size_t size = strlen(word);
    for (Text one; next_split_word(&text, &one);)
        if (one.size == size && begins_with(one.at, one.at + one.size, word, size))
            return true;
    return false;
}

bool contains_ignoring_case(Text text, const char *part)
{
    size_t size = strlen(part);
    for (const uint8_t *at = text.at, *end = text.at + text.size; at < end; at++)
        if (begins_with(at, end, part, size))
            return true;
    return false;
}

static LinkAttributes read_link_attributes(const Node *node)
{
    LinkAttributes found = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    uint32_t leads_by = node->tag == TAG_iframe ? NAME_src : NAME_href;
    for EACH_ATTRIBUTE(node, one) {
        if (one->name == leads_by)
            found.href = value_of(one);
        else if (one->name == NAME_rel)
            found.rel = value_of(one);
        else if (one->name == NAME_type)
            found.type = value_of(one);
    }
    return found;
}

/* Without the controls and spaces that browsers strip from both ends of a URL. */
static Text strip_href(Text text)
{
    while (text.size > 0 && text.at[0] <= ' ') {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && text.at[text.size - 1] <= ' ')
        text.size--;
    return text;
}

static bool is_scheme_character(uint8_t byte)
{
    return (byte < 0x80 && is_alnum(byte)) || byte == '+' || byte == '.' || byte == '-' || byte == '\t' ||
           byte == '\n' || byte == '\r';
}

/* Whether there is a scheme other than http and https. Browsers drop tabs and line breaks in it. */
static bool has_other_scheme(Text href)
{
    uint8_t first = lower_ascii(href.at[0]);
    if (first < 'a' || first > 'z')
        return false;
    uint8_t scheme[sizeof "https"];
    uint32_t size = 0, at = 0;
    for (; at < href.size && is_scheme_character(href.at[at]); at++)
        if (href.at[at] > ' ' && size < sizeof scheme)
            scheme[size++] = lower_ascii(href.at[at]);
    if (at == href.size || href.at[at] != ':')
        return false;
    Text found = {scheme, size};
    return !text_is(found, "http") && !text_is(found, "https");
}

static bool is_followable(Text href)
{
    if (href.size == 0 || href.at[0] == '#')
        return false;
    if (href.size > LINKS_MAX_HREF_CHARS * MAX_CHARACTER_BYTES)
        return false;
    if (href.size > LINKS_MAX_HREF_CHARS && count_characters(href) > LINKS_MAX_HREF_CHARS)
        return false;
    return !has_other_scheme(href);
}

/* How a crawl uses a <link>; LINK_KIND_COUNT if it does not. An alternate that is not HTML is a feed, an embed or a
 * stylesheet. */
static uint32_t link_element_kind(const LinkAttributes *attributes)
{
    if (has_word(attributes->rel, "canonical"))
        return LINK_KIND_canonical;
    bool is_html = attributes->type.size == 0 || contains_ignoring_case(attributes->type, "html");
    if (is_html && has_word(attributes->rel, "alternate") && !has_word(attributes->rel, "stylesheet"))
        return LINK_KIND_alternate;
    return LINK_KIND_COUNT;
}

static uint32_t link_kind(const Node *node, const LinkAttributes *attributes)
{
    switch (node->tag) {
    case TAG_a:
        return LINK_KIND_a;
    case TAG_area:
        return LINK_KIND_area;
    case TAG_iframe:
        return LINK_KIND_iframe;
    default:
        return link_element_kind(attributes);
    }
}

/* The first characters of a text on one line, collected from fragments. */
typedef struct {
    uint8_t bytes[LINKS_MAX_TEXT_CHARS * MAX_CHARACTER_BYTES];
    uint32_t size, chars;
    bool is_spaced;
} Line;

static void add_to_line(Line *line, const uint8_t *at, uint32_t size)
{
    if (line->chars == LINKS_MAX_TEXT_CHARS)
        return;
    memcpy(line->bytes + line->size, at, size);
    line->size += size;
    line->chars++;
}

static void add_fragment(Line *line, Text fragment)
{
    const uint8_t *end = fragment.at + fragment.size;
    for (const uint8_t *at = fragment.at; at < end && line->chars < LINKS_MAX_TEXT_CHARS;) {
        if (*at == TREE_BREAK || space_at(at, end) > 0) {
            line->is_spaced = line->chars > 0;
            at += *at == TREE_BREAK;
            at = strip_left((Text){at, (uint32_t)(end - at)}).at;
            continue;
        }
        if (line->is_spaced)
            add_to_line(line, (const uint8_t *)" ", 1);
        line->is_spaced = false;
        uint32_t size;
        character_at(at, end, &size);
        add_to_line(line, at, size);
        at += size;
    }
}

/* The text of a link. Links can be nested, a thousand of them around the same megabytes, so only its beginning is
 * read and kept. */
static Text text_between(Arena *arena, const Walk *walk, uint32_t start, uint32_t end)
{
    if (start >= end)
        return (Text){EMPTY, 0};
    Text first = fragment_at(arena, walk, start);
    if (end - start == 1 && first.size <= LINKS_MAX_TEXT_CHARS && first.at != NULL && first.at[0] != TREE_BREAK)
        return collapse_spaces(arena, first);
    Line line;
    line.size = line.chars = 0;
    line.is_spaced = false;
    uint32_t stop = end - start > LINKS_MAX_FRAGMENTS ? start + LINKS_MAX_FRAGMENTS : end;
    for (uint32_t n = start; n < stop && line.chars < LINKS_MAX_TEXT_CHARS; n++)
        add_fragment(&line, first_characters(fragment_at(arena, walk, n), MAX_FRAGMENT_CHARS));
    uint8_t *made = arena_alloc(arena, line.size);
    memcpy(made, line.bytes, line.size);
    return (Text){made, line.size};
}

/* select.kept_runs: for each run of the walk, whether any of its blocks is kept. Empty where nothing was scored. */
static Bytes kept_runs(Page *page)
{
    Bytes runs = {0};
    if (page->selection.kept.count == 0 || page->blocks.first_of_run.count == 0)
        return runs;
    FILL(&page->arena, runs, page->blocks.first_of_run.count - 1);
    for (uint32_t block = 0; block < page->selection.kept.count; block++)
        if (page->selection.kept.at[block])
            AT(&page->arena, runs, AT(&page->arena, page->blocks.runs, block)) = true;
    return runs;
}

typedef struct {
    Page *page;
    Bytes kept_runs;
    uint32_t run;           /* where the last link with a text ended */
    Table numbers;          /* of hrefs */
    LIST(Link) links;
} Reader;

/* Whether a link that ends before this fragment is in the article. Links are in order, and so are runs. */
static bool is_kept_before(Reader *reader, uint32_t end)
{
    const Numbers *starts = &reader->page->walk.run_starts;
    while (reader->run + 1 < starts->count && starts->at[reader->run + 1] < end)
        reader->run++;
    return reader->kept_runs.count > 0 && AT(&reader->page->arena, reader->kept_runs, reader->run);
}

/* The first of equal hrefs is kept, followable if any of them is, with the first text that is not empty. */
static void add_link(Reader *reader, Text href, const LinkAttributes *attributes, uint32_t kind, uint32_t place)
{
    Arena *arena = &reader->page->arena;
    const Walk *walk = &reader->page->walk;
    uint32_t start = AT(arena, walk->link_starts, place), end = AT(arena, walk->link_ends, place);
    bool is_kept = start < end && is_kept_before(reader, end);
    bool is_nofollow = has_word(attributes->rel, "nofollow");
    uint32_t number = add_key(arena, &reader->numbers, href);
    if (number < reader->links.count) {
        Link *known = &reader->links.at[number];
        known->is_nofollow = known->is_nofollow && is_nofollow;
        known->is_in_article = known->is_in_article || is_kept;
        if (known->text.size == 0)
            known->text = text_between(arena, walk, start, end);
        return;
    }
    Text rel = attributes->rel.at != NULL ? first_characters(attributes->rel, LINKS_MAX_REL_CHARS) : (Text){EMPTY, 0};
    Text text = text_between(arena, walk, start, end);
    ADD(arena, reader->links, ((Link){href, kind, is_nofollow, text, rel, is_kept}));
}

typedef Text (*LinkText)(const Link *link);
static Text link_href(const Link *link) { return link->href; }
static Text link_text(const Link *link) { return link->text; }
static Text link_rel(const Link *link) { return link->rel; }

static void pack_column(const Reader *reader, Pack *pack, LinkText value)
{
    pack_array(pack, reader->links.count);
    for (uint32_t n = 0; n < reader->links.count; n++) {
        Text text = value(&reader->links.at[n]);
        pack_text(pack, text.size > 0 ? text : (Text){EMPTY, 0});
    }
}

/* A digit for each link. */
static void pack_digits(const Reader *reader, Pack *pack, bool is_flags)
{
    uint8_t *to = pack_text_room(pack, reader->links.count);
    for (uint32_t n = 0; n < reader->links.count; n++) {
        const Link *link = &reader->links.at[n];
        unsigned flags = link->is_nofollow ? RESULTS_NOFOLLOW_LINK : 0;
        flags += link->is_in_article ? RESULTS_IN_ARTICLE_LINK : 0;
        to[n] = (uint8_t)('0' + (is_flags ? flags : (unsigned)link->kind));
    }
    pack_text_end(pack, reader->links.count);
}

/* In columns, as `Links`. */
void pack_links(Page *page, Pack *pack)
{
    const Numbers *nodes = &page->walk.link_nodes;
    uint32_t capacity = nodes->count < LINKS_MAX_LINKS ? nodes->count : LINKS_MAX_LINKS;
    Reader reader = {.page = page, .kept_runs = kept_runs(page), .numbers = make_table(&page->arena, capacity)};
    for (uint32_t n = 0; n < nodes->count && reader.links.count < LINKS_MAX_LINKS; n++) {
        const Node *node = page->walk.nodes + nodes->at[n];
        LinkAttributes attributes = read_link_attributes(node);
        Text href = strip_href(attributes.href);
        if (!is_followable(href))
            continue;
        uint32_t kind = link_kind(node, &attributes);
        if (kind != LINK_KIND_COUNT)
            add_link(&reader, href, &attributes, kind, n);
    }
    pack_array(pack, 5);
    pack_column(&reader, pack, link_href);
    pack_column(&reader, pack, link_text);
    pack_column(&reader, pack, link_rel);
    pack_digits(&reader, pack, true);
    pack_digits(&reader, pack, false);
}
