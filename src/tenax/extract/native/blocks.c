/* A page as blocks: runs of text between the borders of elements, and how much of each is links: `article.blocks`. */
#include "text.h"
#include "unicode.h"

/* Counts in a text of a Latin script: bytes that do not begin a character, spaces, and punctuation. */
typedef struct {
    uint32_t tails, spaces, pauses;
} Counts;

static Counts count_latin(Text text)
{
    Counts counts = {0, 0, 0};
    for (uint32_t n = 0; n < text.size;) {
        /* Few enough to count in a byte, so that the compiler vectorizes the loop. */
        uint8_t tails = 0, spaces = 0, pauses = 0;
        uint32_t end = text.size - n > UINT8_MAX ? n + UINT8_MAX : text.size;
        for (; n < end; n++) {
            uint8_t byte = text.at[n];
            tails += (byte & 0xc0) == 0x80;
            spaces += byte == ' ';
            pauses += (byte == ',') | (byte == '.') | (byte == '?');
        }
        counts.tails += tails;
        counts.spaces += spaces;
        counts.pauses += pauses;
    }
    return counts;
}

static void add_block(Page *page, uint32_t begin, uint32_t end, uint32_t run)
{
    Arena *arena = &page->arena;
    Blocks *blocks = &page->blocks;
    Text text = strip_right((Text){blocks->marked.at + begin, end - begin});
    Counts counts = count_latin(text);
    uint32_t words = counts.spaces + 1, length = text.size - counts.tails;
    ADD(arena, blocks->texts, text);
    ADD(arena, blocks->lengths, length);
    ADD(arena, blocks->runs, run);
    ADD(arena, blocks->boxes, AT(arena, page->walk.run_boxes, run));
    ADD(arena, blocks->chars, length);
    ADD(arena, blocks->words, words);
    ADD(arena, blocks->pauses, words > BLOCKS_MIN_SENTENCE_WORDS ? counts.pauses : 0);
}

/* Blocks begin where runs and paragraphs do; text before the first run is no block. */
static void split_into_blocks(Page *page, const Numbers *marks)
{
    Arena *arena = &page->arena;
    Blocks *blocks = &page->blocks;
    const uint8_t *marked = blocks->marked.at;
    const Walk *walk = &page->walk;
    uint32_t runs = walk->run_starts.count;
    for (uint32_t n = 0, run = 0, parts = 0; n < marks->count; n++) {
        if (marked[marks->at[n]] == VISIBLE_RUN_MARK) {
            ADD(arena, blocks->first_of_run, blocks->texts.count);
            blocks->is_cut = blocks->texts.count >= BLOCKS_MAX_BLOCKS || (walk->is_full && run == walk->scored_runs);
            if (blocks->is_cut)
                break;
            run++;
            parts = 0;
        }
        if (run > 0 && parts++ < BLOCKS_MAX_BLOCKS)
            add_block(page, marks->at[n] + 1, n + 1 < marks->count ? marks->at[n + 1] : blocks->marked.size, run - 1);
    }
    /* Runs beyond the limit have no blocks. */
    uint32_t missing = runs + 1 - blocks->first_of_run.count;
    for (uint32_t n = 0; n < missing; n++)
        ADD(arena, blocks->first_of_run, blocks->texts.count);
    blocks->marks = marks->count;
}

/* The length of some fragments on one line, with single spaces. */
static uint32_t line_length(const Walk *walk, uint32_t start, uint32_t stop)
{
    uint32_t count = 0;
    bool is_spaced = false;
    for (uint32_t n = start; n < stop; n++) {
        Text fragment = fragment_text(walk, n);
        const uint8_t *at = fragment.at, *end = at + fragment.size;
        while (at < end) {
            uint32_t space = *at == TREE_BREAK ? 1 : space_at(at, end);
            if (space) {
                at += space;
                is_spaced = true;
                continue;
            }
            count += 1 + (is_spaced && count > 0);
            is_spaced = false;
            at++;
            while (at < end && (*at & 0xc0) == 0x80)
                at++;
        }
    }
    return count;
}

/* The first block of a split run, from the last link's on, that has room for the link: an approximation. */
static uint32_t find_block_with_room(const Blocks *blocks, uint32_t run, uint32_t link_length, uint32_t last)
{
    uint32_t first = blocks->first_of_run.at[run], end = blocks->first_of_run.at[run + 1];
    for (uint32_t block = first > last ? first : last; block + 1 < end; block++)
        if (blocks->link_chars.at[block] + link_length <= blocks->lengths.at[block])
            return block;
    return end - 1;
}

static void count_links(Page *page)
{
    const Walk *walk = &page->walk;
    Blocks *blocks = &page->blocks;
    FILL(&page->arena, blocks->link_chars, blocks->texts.count);
    FILL(&page->arena, blocks->link_counts, blocks->texts.count);
    uint32_t runs = walk->run_starts.count, run = 0, covered = 0, block = 0;
    bool is_one_each = blocks->texts.count == runs && !blocks->is_cut;
    for (uint32_t link = 0; link < walk->link_starts.count && runs; link++) {
        uint32_t start = walk->link_starts.at[link], end = walk->link_ends.at[link];
        /* A link within a link counts with the outer one: no text is read twice. */
        if (start < covered || start >= end)
            continue;
        covered = end;
        while (run + 1 < runs && walk->run_starts.at[run + 1] <= start)
            run++;
        if (end - start == 1 && blocks->first_of_run.at[run + 1] - blocks->first_of_run.at[run] == 1) {
            uint32_t link_length = count_characters(strip_text(fragment_text(walk, start)));
            if (link_length) {
                block = blocks->first_of_run.at[run];
                AT(&page->arena, blocks->link_chars, block) += link_length;
                AT(&page->arena, blocks->link_counts, block) += 1;
            }
            continue;
        }
        for (uint32_t at = run; at < runs && walk->run_starts.at[at] < end; at++) {
            uint32_t stop = at + 1 < runs ? walk->run_starts.at[at + 1] : walk->fragments.count;
            if (blocks->first_of_run.at[at] == blocks->first_of_run.at[at + 1])
                continue;
            uint32_t begin = walk->run_starts.at[at];
            uint32_t link_length = line_length(walk, start > begin ? start : begin, stop < end ? stop : end);
            if (link_length == 0)
                continue;
            block = is_one_each ? blocks->first_of_run.at[at] : find_block_with_room(blocks, at, link_length, block);
            AT(&page->arena, blocks->link_chars, block) += link_length;
            AT(&page->arena, blocks->link_counts, block) += 1;
        }
    }
    /* Rarely a text is shorter than its links, because white space between them is counted differently. */
    for (uint32_t n = 0; n < blocks->texts.count; n++)
        if (blocks->link_chars.at[n] > blocks->lengths.at[n])
            blocks->link_chars.at[n] = blocks->lengths.at[n];
}

/* Scripts without spaces between words: each character carries more, and two of them count as a word. */
static bool is_dense(uint32_t character)
{
    return (character >= 0x0e00 && character <= 0x0e7f) || (character >= 0x3040 && character <= 0x30ff) ||
           (character >= 0x3400 && character <= 0x4dbf) || (character >= 0x4e00 && character <= 0x9fff) ||
           (character >= 0xac00 && character <= 0xd7af);
}

/* Punctuation that separates or ends sentences, in any script. */
static bool is_sentence_punctuation(uint32_t character)
{
    switch (character) {
    case '.': case ',': case ';': case ':': case '!': case '?':
    case 0x3002: case 0xff0c: case 0x3001: case 0xff01: case 0xff1f: case 0xff1b: case 0xff1a:
    case 0x2026: case 0x061f: case 0x060c: case 0x06d4: case 0x0964:
        return true;
    default:
        return false;
    }
}

/* Whether the page is mostly in a non-Latin script, whose letters take two or three bytes. */
static bool is_non_latin(Text marked)
{
    uint32_t chars = count_characters(marked);
    return marked.size != chars && (double)marked.size > BLOCKS_NON_LATIN_BYTES_PER_CHAR * (double)chars;
}

static void count_non_latin(Blocks *blocks, uint32_t block)
{
    uint32_t dense = 0, spaces = 0, pauses = 0, size;
    Text text = blocks->texts.at[block];
    for (const uint8_t *at = text.at, *end = at + text.size; at < end; at += size) {
        uint32_t character = character_at(at, end, &size);
        dense += is_dense(character);
        spaces += character == ' ';
        pauses += is_sentence_punctuation(character);
    }
    blocks->chars.at[block] += dense;
    blocks->words.at[block] = spaces + 1 + dense / 2;
    blocks->pauses.at[block] = pauses;
}

/* Prefix sums: the counts before each block, and the totals at the end. */
static void compute_prefix_sums(Page *page)
{
    Blocks *blocks = &page->blocks;
    uint32_t count = blocks->texts.count;
    FILL(&page->arena, blocks->chars_before, count + 1);
    FILL(&page->arena, blocks->links_before, count + 1);
    FILL(&page->arena, blocks->punctuation_before, count + 1);
    FILL(&page->arena, blocks->long_blocks_before, count + 1);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t chars = blocks->chars.at[n], linked = blocks->link_chars.at[n];
        blocks->chars_before.at[n + 1] = blocks->chars_before.at[n] + chars;
        blocks->links_before.at[n + 1] = blocks->links_before.at[n] + linked;
        blocks->punctuation_before.at[n + 1] = blocks->punctuation_before.at[n] + blocks->pauses.at[n];
        blocks->long_blocks_before.at[n + 1] =
            blocks->long_blocks_before.at[n] + (chars >= BLOCKS_LONG_BLOCK_CHARS && (uint64_t)2 * linked < chars);
    }
}

void read_blocks(Page *page)
{
    Blocks *blocks = &page->blocks;
    Numbers marks;
    *blocks = (Blocks){0};
    blocks->marked = text_with_marks(&page->arena, &page->walk, &marks);
    split_into_blocks(page, &marks);
    if (is_non_latin(blocks->marked))
        for (uint32_t n = 0; n < blocks->texts.count; n++)
            count_non_latin(blocks, n);
    count_links(page);
    compute_prefix_sums(page);
}
