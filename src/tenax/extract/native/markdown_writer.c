/* The output Markdown is written on: blocks within quotes and list items, and the marks that keep each line there:
 * `parse.markdown_sheet`. */
#include <stdio.h>

#include "markdown.h"

#define MOST_SIGNS (MAX_LEVELS * SIGN_BYTES)

uint32_t count_levels(Chain chain)
{
    uint32_t levels = 0;
    for (uint32_t n = 0; n < chain.count; n++)
        levels += chain.at[n]->is_item ? 2 : 1;
    return levels;
}

Chain append_container(Arena *arena, Chain chain, Container container)
{
    if (chain.count >= MAX_LEVELS)
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

static uint32_t shared(Chain one, Chain other)
{
    uint32_t count = 0;
    while (count < one.count && count < other.count && one.at[count] == other.at[count])
        count++;
    return count;
}

/* Whether the item goes on with the list before it, or begins one right below the text of an outer item. */
static bool continues_list(const MarkdownOutput *output, const Container *item, uint32_t common)
{
    if (!item->is_item)
        return false;
    if (common < output->open.count) {
        const Container *before = output->open.at[common];
        return before->is_item && before->list == item->list;
    }
    /* Numbers other than 1 cannot end a paragraph. */
    return common > 0 && output->open.at[output->open.count - 1]->is_item && (!item->is_numbered || item->number == 1);
}

/* Give an item its marker: of a list that follows right on another one of its kind, the other marker. */
static void sign(MarkdownOutput *output, Container *item, const Container *before)
{
    uint8_t *sign = &AT(output->buffer.arena, output->signs, item->list);
    if (*sign == 0) {
        char usual = item->is_numbered ? '.' : '-', other = item->is_numbered ? ')' : '*';
        bool is_taken = before != NULL && before->is_item && AT(output->buffer.arena, output->signs, before->list) == usual;
        *sign = (uint8_t)(is_taken ? other : usual);
    }
    int size = item->is_numbered ? snprintf(item->first, sizeof item->first, "%u%c ", (unsigned)item->number, *sign)
                                 : snprintf(item->first, sizeof item->first, "%c ", *sign);
    item->size = (uint8_t)size;
}

/* What every line of a block but the first begins with; gives its size. */
static uint32_t rest_of(Chain chain, uint32_t count, uint8_t rest[MOST_SIGNS])
{
    uint32_t size = 0;
    for (uint32_t n = 0; n < count; n++) {
        if (chain.at[n]->is_item)
            memset(rest + size, ' ', chain.at[n]->size);
        else
            memcpy(rest + size, "> ", 2);
        size += chain.at[n]->size;
    }
    return size;
}

static void part(MarkdownOutput *output, bool is_tight, const uint8_t *kept, uint32_t size)
{
    put_char(&output->buffer, '\n');
    if (is_tight)
        return;
    while (size && kept[size - 1] == ' ')
        size--;
    put(&output->buffer, kept, size);
    put_char(&output->buffer, '\n');
}

static void put_lines(Buffer *buffer, Text text, const uint8_t *rest, uint32_t size)
{
    while (text.size) {
        const uint8_t *found = memchr(text.at, '\n', text.size);
        uint32_t line = found != NULL ? (uint32_t)(found - text.at) + 1 : text.size;
        put(buffer, text.at, line);
        if (found != NULL)
            put(buffer, rest, size);
        text = (Text){text.at + line, text.size - line};
    }
}

/* Add a block: Markdown that makes sense on its own. */
void output_add_block(MarkdownOutput *output, Chain chain, Text text)
{
    if (chain.count == 0) {
        if (output->is_begun)
            put_literal(&output->buffer, "\n\n");
        put_text(&output->buffer, text);
    } else {
        uint32_t common = shared(output->open, chain);
        for (uint32_t n = common; n < chain.count; n++)
            if (chain.at[n]->is_item)
                sign(output, chain.at[n], n == common && n < output->open.count ? output->open.at[n] : NULL);
        uint8_t rest[MOST_SIGNS];
        uint32_t kept = rest_of(chain, common, rest);
        if (output->is_begun)
            part(output, common < chain.count && continues_list(output, chain.at[common], common), rest, kept);
        put(&output->buffer, rest, kept);
        for (uint32_t n = common; n < chain.count; n++)
            put(&output->buffer, chain.at[n]->first, chain.at[n]->size);
        uint32_t all = rest_of(chain, chain.count, rest);
        put_lines(&output->buffer, text, rest, all);
    }
    output->open = chain;
    output->is_begun = true;
}
