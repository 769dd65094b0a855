/* Preformatted text as Markdown, as written, and its language: a part of `markdown.render`. */
#include "markdown.h"
#include "unicode.h"

static bool is_break(Text fragment) { return fragment.size == 1 && fragment.at[0] == TREE_BREAK; }

/* The kept blocks of a box, separated by line breaks. */
static void put_kept_blocks(Buffer *buffer, const Page *page, Span span)
{
    bool is_first = true;
    for (uint32_t block = span.first; block < span.end && block < page->blocks.texts.count; block++) {
        if (!page->selection.kept.at[block])
            continue;
        if (!is_first)
            put_char(buffer, '\n');
        put_text(buffer, page->blocks.texts.at[block]);
        is_first = false;
    }
}

/* The fragments of a box with text. The indentation of the first line may be a separate text. */
static Span fragments_of(Page *page, uint32_t box)
{
    const Walk *walk = &page->walk;
    uint32_t begin = AT(&page->arena, walk->run_starts, AT(&page->arena, walk->box_starts, box));
    uint32_t end = AT(&page->arena, walk->box_ends, box);
    while (begin > 0) {
        Text before = fragment_at(&page->arena, walk, begin - 1);
        if (before.size == 0 || is_break(before) || !is_blank(before))
            break;
        begin--;
    }
    return (Span){begin, end < walk->run_starts.count ? walk->run_starts.at[end] : walk->fragments.count};
}

static bool has_inner_text(Page *page, uint32_t box)
{
    const Walk *walk = &page->walk;
    uint32_t end = AT(&page->arena, walk->box_ends, box);
    for (uint32_t run = AT(&page->arena, walk->box_starts, box); run < end; run++)
        if (AT(&page->arena, walk->run_boxes, run) != box)
            return true;
    return false;
}

/* The joined fragments with one kind of line break. */
static void put_raw(Buffer *buffer, Page *page, uint32_t box)
{
    Span span = fragments_of(page, box);
    bool merges = has_inner_text(page, box), is_behind_break = false, is_behind_return = false;
    for (uint32_t n = span.first; n < span.end; n++) {
        Text one = fragment_at(&page->arena, &page->walk, n);
        bool is_line = is_break(one);
        if (merges && is_line && is_behind_break) {
            /* Adjacent boxes make one break, not two. */
            is_behind_break = false;
            continue;
        }
        is_behind_break = is_line || (is_behind_break && one.size == 0);
        if (is_line)
            one = (Text){(const uint8_t *)"\n", 1};
        for (uint32_t at = 0; at < one.size; at++) {
            uint8_t byte = one.at[at];
            if (!(byte == '\n' && is_behind_return))
                put_char(buffer, byte == '\r' ? '\n' : (char)byte);
            is_behind_return = byte == '\r';
        }
    }
}

/* Replace what is white space in Python and in blocks, but not in code. */
static void space_separators(Buffer *buffer)
{
    for (uint32_t at = 0; at < buffer->count; at++)
        if (buffer->at[at] >= 0x1c && buffer->at[at] <= 0x1f)
            buffer->at[at] = ' ';
}

/* Code without leading and trailing empty lines. */
static Text trimmed(Text code)
{
    code = strip_right(code);
    uint32_t lead = code.size - strip_left(code).size;
    while (lead > 0 && code.at[lead - 1] != '\n')
        lead--;
    return (Text){code.at + lead, code.size - lead};
}

/* The size of a name at a position: 1 to 30 characters up to white space or the end; 0 for none. */
static uint32_t language_size(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *begin = at;
    uint32_t size, count = 0;
    for (; at < end && space_at(at, end) == 0; at += size) {
        uint32_t character = character_at(at, end, &size);
        bool is_sign = character == '+' || character == '#' || character == '.' || character == '-';
        if (!(is_sign || is_word(character)) || ++count > RENDER_MAX_LANGUAGE_CHARS)
            return 0;
    }
    return (uint32_t)(at - begin);
}

/* The language named by a word of a class; empty for none. */
static Text language_in(const uint8_t *at, const uint8_t *end)
{
    static const char *const BEGINNINGS[] = {"language-", "lang-", "highlight-source-", "highlight-"};
    for (uint32_t n = 0; n < sizeof BEGINNINGS / sizeof *BEGINNINGS; n++) {
        size_t size = strlen(BEGINNINGS[n]);
        if ((size_t)(end - at) <= size || memcmp(at, BEGINNINGS[n], size) != 0)
            continue;
        Text language = {at + size, language_size(at + size, end)};
        if (language.size && !text_is(language, "none") && !text_is(language, "default"))
            return language;
    }
    return (Text){at, 0};
}

/* The language named by the class of an element; empty for none. */
static Text language_of_class(const Node *node)
{
    Text names = get_attribute(node, NAME_class);
    const uint8_t *at = names.at, *end = names.at + names.size;
    bool is_beginning = true;
    while (names.size && at < end) {
        uint32_t space = space_at(at, end);
        if (is_beginning && space == 0) {
            Text found = language_in(at, end);
            if (found.size)
                return found;
        }
        is_beginning = space > 0;
        at += space ? space : 1;
    }
    return (Text){(const uint8_t *)"", 0};
}

/* The same for a box, cached: many listings may be in one box with a long class. */
static Text language_of_box(Languages *languages, Page *page, uint32_t box)
{
    if (languages->count == 0)
        FILL(&page->arena, *languages, page->walk.box_nodes.count);
    Text *known = &AT(&page->arena, *languages, box);
    if (known->at == NULL)
        *known = language_of_class(node_at(&page->arena, &page->walk, &page->walk.box_nodes, box));
    return *known;
}

static Text language_of(Languages *languages, Page *page, uint32_t box)
{
    const Node *child = first_child(node_at(&page->arena, &page->walk, &page->walk.box_nodes, box));
    Text found = language_of_box(languages, page, box);
    if (found.size == 0 && child != NULL && child->tag == TAG_code)
        found = language_of_class(child);
    for (uint32_t n = 0; n < 2 && found.size == 0; n++) {
        box = AT(&page->arena, page->walk.box_parents, box);
        found = language_of_box(languages, page, box);
    }
    return found;
}

/* Preformatted text as written; if only parts are kept, the kept blocks. Nothing if it is blank. */
void put_code(Buffer *buffer, Languages *languages, const KeptBlocks *kept, uint32_t box)
{
    Page *page = kept->page;
    Span span = span_of(page, box);
    Buffer raw = {.arena = buffer->arena};
    if (count_kept_in(kept, box) < span.end - span.first)
        put_kept_blocks(&raw, page, span);
    else
        put_raw(&raw, page, box);
    space_separators(&raw);
    Text code = trimmed(strip_controls(buffer->arena, written(&raw, 0)));
    if (code.size)
        put_fenced(buffer, code, language_of(languages, page, box));
}
