/* Writes Markdown blocks within quotes and list items, with the prefixes of each line: `markdown.structure`. */
#include <stdio.h>

#include "markdown.h"

#define MAX_PREFIX_BYTES (STRUCTURE_MAX_LEVELS * MARKER_BYTES)

uint32_t count_levels(Chain chain)
{
    uint32_t levels = 0;
    for (uint32_t n = 0; n < chain.count; n++)
        levels += chain.at[n]->is_item ? 2 : 1;
    return levels;
}

Chain append_container(Arena *arena, Chain chain, Container container)
{
    if (chain.count >= STRUCTURE_MAX_LEVELS)
        page_fail(arena, "containers too deep");
    Container *made = arena_alloc(arena, sizeof *made);
    *made = container;
    memcpy(made->first, "> ", 2);
    made->size = 2;
    Container **at = arena_alloc(arena, (chain.count + 1) * sizeof *at);
    if (chain.count)
        memcpy(at, chain.at, chain.count * sizeof *at);
    at[chain.count] = made;
    return (Chain){at, chain.count + 1};
}

static uint32_t count_shared(Chain one, Chain other)
{
    uint32_t count = 0;
    while (count < one.count && count < other.count && one.at[count] == other.at[count])
        count++;
    return count;
}

/* Whether the item continues the list before it, or begins one directly below the text of an outer item. */
static bool continues_list(const MarkdownOutput *output, const Container *item, uint32_t common)
{
    if (!item->is_item)
        return false;
    if (common < output->open.count) {
        const Container *before = output->open.at[common];
        return before->is_item && before->list == item->list;
    }
    /* Only number 1 can interrupt a paragraph. */
    return common > 0 && output->open.at[output->open.count - 1]->is_item && (!item->is_numbered || item->number == 1);
}

/* Set the marker of an item: the alternative one if its list directly follows a list of the same kind. */
static void set_marker(MarkdownOutput *output, Container *item, const Container *before)
{
    uint8_t *marker = &AT(output->buffer.arena, output->markers, item->list);
    if (*marker == 0) {
        char usual = item->is_numbered ? '.' : '-', other = item->is_numbered ? ')' : '*';
        bool is_taken = before != NULL && before->is_item &&
                        AT(output->buffer.arena, output->markers, before->list) == usual;
        *marker = (uint8_t)(is_taken ? other : usual);
    }
    int size = item->is_numbered ? snprintf(item->first, sizeof item->first, "%u%c ", (unsigned)item->number, *marker)
                                 : snprintf(item->first, sizeof item->first, "%c ", *marker);
    item->size = (uint8_t)size;
}

/* The prefix of every line of a block but the first; returns its size. */
static uint32_t next_line_prefix(Chain chain, uint32_t count, uint8_t prefix[MAX_PREFIX_BYTES])
{
    uint32_t size = 0;
    for (uint32_t n = 0; n < count; n++) {
        if (chain.at[n]->is_item)
            memset(prefix + size, ' ', chain.at[n]->size);
        else
            memcpy(prefix + size, "> ", 2);
        size += chain.at[n]->size;
    }
    return size;
}

static void separate_blocks(MarkdownOutput *output, bool is_tight, const uint8_t *kept, uint32_t size)
{
    put_char(&output->buffer, '\n');
    if (is_tight)
        return;
    while (size && kept[size - 1] == ' ')
        size--;
    put(&output->buffer, kept, size);
    put_char(&output->buffer, '\n');
}

static void put_lines(Buffer *buffer, Text text, const uint8_t *prefix, uint32_t size)
{
    while (text.size) {
        const uint8_t *found = memchr(text.at, '\n', text.size);
        uint32_t line = found != NULL ? (uint32_t)(found - text.at) + 1 : text.size;
        put(buffer, text.at, line);
        if (found != NULL)
            put(buffer, prefix, size);
        text = (Text){text.at + line, text.size - line};
    }
}

/* Add a complete Markdown block. */
void output_add_block(MarkdownOutput *output, Chain chain, Text text)
{
    if (chain.count == 0) {
        if (output->is_begun)
            put_literal(&output->buffer, "\n\n");
        put_text(&output->buffer, text);
    } else {
        uint32_t common = count_shared(output->open, chain);
        for (uint32_t n = common; n < chain.count; n++)
            if (chain.at[n]->is_item)
                set_marker(output, chain.at[n], n == common && n < output->open.count ? output->open.at[n] : NULL);
        uint8_t prefix[MAX_PREFIX_BYTES];
        uint32_t kept = next_line_prefix(chain, common, prefix);
        if (output->is_begun)
            separate_blocks(output, common < chain.count && continues_list(output, chain.at[common], common), prefix,
                            kept);
        put(&output->buffer, prefix, kept);
        for (uint32_t n = common; n < chain.count; n++)
            put(&output->buffer, chain.at[n]->first, chain.at[n]->size);
        uint32_t all = next_line_prefix(chain, chain.count, prefix);
        put_lines(&output->buffer, text, prefix, all);
    }
    output->open = chain;
    output->is_begun = true;
}
