/* The functions that Python calls. Each answer is msgpack in memory of the page, valid until the next call for that
 * page; a size of 0 means that the page is unsupported here. */
#include <stdlib.h>

#include "language.h"
#include "text.h"
#include "unicode.h"

#define ANSWER_BYTES 32768
#define LINES_BYTES 1024

#define EXPORT __attribute__((visibility("default")))

EXPORT Page *native_page_new(void) { return calloc(1, sizeof(Page)); }

EXPORT void native_page_free(Page *page)
{
    if (page != NULL)
        arena_free(&page->arena);
    free(page);
}

/* After the last call for a page: frees the memory of a long page. */
EXPORT void native_page_close(Page *page) { arena_reset(&page->arena); }

/* Why the last call for a page failed. */
EXPORT const char *native_error(const Page *page) { return page->arena.error ? page->arena.error : ""; }

/* Our Unicode version, for comparison. */
EXPORT const char *native_unicode_version(void) { return unicode_version(); }

static size_t set_answer(const Pack *pack, const uint8_t **answer)
{
    *answer = pack->at;
    return pack->size;
}

/* The first call for a page: the walk, and the head; for a skimmed page, without author and date. The tree must stay
 * until the last call. */
EXPORT size_t native_open(Page *page, LexborNode *root, bool is_skimmed, const uint8_t **answer)
{
    arena_reset(&page->arena);
    if (setjmp(page->arena.broken))
        return 0;
    page->blocks = (Blocks){0};
    page->selection = (Selection){0};
    page->text = (Text){NULL, 0};
    page->scripts = (Numbers){0};
    read_tree(&page->arena, root, &page->nodes);
    read_walk(page);
    Pack pack = pack_begin(&page->arena, ANSWER_BYTES);
    pack_head(page, &pack, is_skimmed ? 0 : byline_clauses(page));
    return set_answer(&pack, answer);
}

/* Text and links, for a page that is only skimmed. */
EXPORT size_t native_skim(Page *page, const uint8_t **answer)
{
    if (setjmp(page->arena.broken))
        return 0;
    Text text = visible_text(&page->arena, &page->walk);
    Pack pack = pack_begin(&page->arena, text.size + ANSWER_BYTES);
    pack_array(&pack, 2);
    pack_text(&pack, first_characters(text, VISIBLE_MAX_TEXT_CHARS));
    pack_links(page, &pack);
    return set_answer(&pack, answer);
}

static Text article_text(Page *page)
{
    const Texts *texts = &page->blocks.texts;
    size_t size = 0;
    for (uint32_t n = 0; n < texts->count; n++)
        size += page->selection.kept.at[n] ? (size_t)texts->at[n].size + 1 : 0;
    uint8_t *made = arena_alloc(&page->arena, size + 1), *to = made;
    for (uint32_t n = 0; n < texts->count; n++) {
        if (!page->selection.kept.at[n])
            continue;
        if (to > made)
            *to++ = '\n';
        if (texts->at[n].size)
            memcpy(to, texts->at[n].at, texts->at[n].size);
        to += texts->at[n].size;
    }
    return (Text){made, (uint32_t)(to - made)};
}

/* The first kept paragraph with real content; empty if there is none. */
static Text first_paragraph(Page *page)
{
    const Blocks *blocks = &page->blocks;
    for (uint32_t n = 0; n < blocks->texts.count; n++)
        if (page->selection.kept.at[n] && blocks->lengths.at[n] > SELECT_MIN_ABSTRACT_CHARS &&
            !is_heading_class(AT(&page->arena, page->layout.tags, n)))
            return first_characters(collapse_spaces(&page->arena, blocks->texts.at[n]), SELECT_MAX_ABSTRACT_CHARS);
    return (Text){NULL, 0};
}

static uint32_t count_words(const Page *page)
{
    uint32_t words = 0;
    for (uint32_t n = 0; n < page->blocks.texts.count; n++)
        words += page->selection.kept.at[n] ? page->blocks.words.at[n] : 0;
    return words;
}

static void score_page(Page *page)
{
    read_blocks(page);
    read_layout(page);
    read_kind(page);
    select_article(page);
    if (page->selection.kept.count != page->blocks.texts.count)
        page_fail(&page->arena, "not every block was scored");
}

/* Everything but the metadata and the Markdown. `numbers` are those of the hints, then those of the URL. */
EXPORT size_t native_read(Page *page, const uint8_t *title, uint32_t title_size, const double *numbers,
                          const uint8_t **answer)
{
    if (setjmp(page->arena.broken))
        return 0;
    page->hints.title = (Text){title, title_size};
    memcpy(page->hints.numbers, numbers, sizeof page->hints.numbers);
    memcpy(page->hints.address, numbers + PAGE_HINT_NUMBERS, sizeof page->hints.address);
    score_page(page);
    Text text = strip_controls(&page->arena, page->blocks.marked);
    /* If only our own marks were removed, the parts need no cleaning. */
    bool is_clean = text.size + page->blocks.marks == page->blocks.marked.size;
    Text article = article_text(page);
    article = is_clean ? article : strip_controls(&page->arena, article);
    Pack pack = pack_begin(&page->arena, (size_t)text.size + article.size + ANSWER_BYTES);
    pack_array(&pack, 10);
    pack_text(&pack, first_characters(text, VISIBLE_MAX_TEXT_CHARS));
    pack_bool(&pack, is_clean);
    if (page->blocks.is_cut)
        pack_int(&pack, page->blocks.texts.count);
    else
        pack_nil(&pack);
    pack_int(&pack, page->kind);
    pack_text(&pack, article);
    pack_text(&pack, first_paragraph(page));
    pack_int(&pack, count_words(page));
    pack_bytes(&pack, near_fingerprint(&page->arena, article));
    pack_links(page, &pack);
    pack_markdown_hrefs(page, &pack);
    page->text = text;
    return set_answer(&pack, answer);
}

/* Lines of the text: those near the title, which is given in lower case, and those that may be little more than a
 * date. */
EXPORT size_t native_byline_lines(Page *page, const uint8_t *title, uint32_t size, const uint8_t **answer)
{
    if (page->text.at == NULL)
        return 0;
    if (setjmp(page->arena.broken))
        return 0;
    Pack pack = pack_begin(&page->arena, LINES_BYTES);
    pack_array(&pack, 2);
    pack_byline_lines(page, (Text){title, size}, &pack);
    pack_lines_with_years(page, &pack);
    return set_answer(&pack, answer);
}

EXPORT bool native_may_have_script_dates(const Page *page) { return may_have_script_dates(page); }

/* The Markdown of the kept blocks. `joined` contains the URLs for the hrefs of the last answer, each terminated by a
 * zero. */
EXPORT size_t native_markdown(Page *page, const uint8_t *joined, uint32_t size, const uint8_t **answer)
{
    if (setjmp(page->arena.broken))
        return 0;
    Texts addresses = {0};
    for (uint32_t at = 0; at < size;) {
        const uint8_t *end = memchr(joined + at, 0, size - at);
        uint32_t stop = end != NULL ? (uint32_t)(end - joined) : size;
        ADD(&page->arena, addresses, ((Text){joined + at, stop - at}));
        at = stop + 1;
    }
    Pack pack = pack_begin(&page->arena, (size_t)page->blocks.marked.size * 2 + ANSWER_BYTES);
    pack_markdown(page, &addresses, &pack);
    return set_answer(&pack, answer);
}

/* The language of a lower-case sample, and the confidence: a tag and a number from 0 to 1. */
EXPORT size_t native_detect_language(Page *page, const uint8_t *sample, uint32_t size, const uint8_t **answer)
{
    if (setjmp(page->arena.broken))
        return 0;
    Text tag = {NULL, 0};
    double confidence = 0.0;
    detect_language(&page->arena, (Text){sample, size}, &tag, &confidence);
    Pack pack = pack_begin(&page->arena, 64);
    pack_array(&pack, 2);
    pack_text(&pack, tag);
    pack_real(&pack, confidence);
    return set_answer(&pack, answer);
}
