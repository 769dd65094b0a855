/* Images as Markdown: which of them are content, and to which part of the page they belong: `metadata.images`, and
 * parts of `markdown.render`. */
#include "markdown.h"
#include "unicode.h"

static const uint32_t SOURCES[] = IMAGES_SOURCE_ATTRIBUTES;

typedef struct {
    bool has_alt;
    Text alt, width, height, sources[IMAGES_SOURCE_ATTRIBUTES_COUNT];
} ImageAttributes;

static ImageAttributes read_image_attributes(const Node *image)
{
    static const Text NONE = {(const uint8_t *)"", 0};
    ImageAttributes attributes = {false, NONE, NONE, NONE, {NONE}};
    for (uint32_t n = 0; n < IMAGES_SOURCE_ATTRIBUTES_COUNT; n++)
        attributes.sources[n] = NONE;
    for EACH_ATTRIBUTE(image, one) {
        Text value = one->at != NULL ? value_of(one) : NONE;
        if (one->name == NAME_alt) {
            attributes.has_alt = true;
            attributes.alt = value;
        } else if (one->name == NAME_width) {
            attributes.width = value;
        } else if (one->name == NAME_height) {
            attributes.height = value;
        } else {
            for (uint32_t n = 0; n < IMAGES_SOURCE_ATTRIBUTES_COUNT; n++)
                if (one->name == SOURCES[n])
                    attributes.sources[n] = value;
        }
    }
    return attributes;
}

static bool begins_with(const uint8_t *at, const uint8_t *end, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(end - at) >= size && memcmp(at, word, size) == 0;
}

/* Words in the URLs of decoration, in lower case, by their first letter. */
static bool decorates_from(const uint8_t *at, const uint8_t *end)
{
#define IS(word) begins_with(at, end, word)
    switch (*at) {
    case '/': return IS("/ad/") || IS("/ads/");
    case '1': return IS("1x1");
    case 'a': return IS("avatar");
    case 'b': return IS("blank") || IS("badge") || IS("button") || IS("banner");
    case 'e': return IS("emoji");
    case 'g': return IS("gravatar");
    case 'i': return IS("icon");
    case 'l': return IS("logo") || IS("loading");
    case 'p': return IS("pixel") || IS("placeholder");
    case 's': return IS("sprite") || IS("spacer");
    default: return false;
    }
#undef IS
}

static bool is_decoration(Arena *arena, Text href)
{
    Text lower = lowered(arena, href);
    const uint8_t *end = lower.at + lower.size;
    for (const uint8_t *at = lower.at; at < end; at++)
        if (decorates_from(at, end))
            return true;
    return false;
}

static Text first_source(const ImageAttributes *attributes)
{
    for (uint32_t n = 0; n < IMAGES_SOURCE_ATTRIBUTES_COUNT; n++) {
        Text href = strip_text(attributes->sources[n]);
        /* Lazy-loaded images have a small data: URL as placeholder. */
        if (href.size && !begins_with(href.at, href.at + href.size, "data:") &&
            count_characters(href) <= IMAGES_MAX_HREF_CHARS)
            return href;
    }
    return (Text){NULL, 0};
}

/* The value of a decimal digit of any script: each script has ten in sequence, from zero on. */
static uint32_t digit_of(uint32_t character)
{
    uint32_t first = character;
    while (first > 0 && is_decimal(first - 1))
        first--;
    return (character - first) % 10;
}

static bool is_small(Text attributes)
{
    attributes = strip_text(attributes);
    if (attributes.size >= 2 && memcmp(attributes.at + attributes.size - 2, "px", 2) == 0)
        attributes.size -= 2;
    const uint8_t *end = attributes.at + attributes.size;
    uint32_t number = 0, digits = 0, size;
    for (const uint8_t *at = attributes.at; at < end; at += size) {
        uint32_t character = character_at(at, end, &size);
        if (!is_decimal(character))
            return false;
        if (digits++ < IMAGES_MAX_SIZE_DIGITS)
            number = number * 10 + digit_of(character);
    }
    return attributes.size && number < IMAGES_SMALL_PIXELS;
}

Picture read_image(Arena *arena, const Node *image)
{
    ImageAttributes attributes = read_image_attributes(image);
    Text alt = collapse_spaces(arena, first_characters(attributes.alt, INLINE_MAX_ALT_CHARS));
    if (alt.size == 0 && attributes.has_alt)
        return (Picture){{NULL, 0}, {NULL, 0}};
    Text href = first_source(&attributes);
    if (href.size == 0 || is_small(attributes.width) || is_small(attributes.height) || is_decoration(arena, href))
        return (Picture){{NULL, 0}, {NULL, 0}};
    return (Picture){alt, href};
}

Text format_image(Arena *arena, const Hrefs *hrefs, const Node *image)
{
    Picture read = read_image(arena, image);
    Text source = resolved_href(arena, hrefs, read.href);
    if (source.size == 0)
        return (Text){NULL, 0};
    Buffer buffer = {.arena = arena};
    put_literal(&buffer, "![");
    put_text(&buffer, escape_text(arena, read.alt));
    put_literal(&buffer, "](");
    put_text(&buffer, source);
    put_char(&buffer, ')');
    return written(&buffer, 0);
}

static void add_near(const KeptBlocks *kept, NearbyBoxes *near, uint32_t run)
{
    Page *page = kept->page;
    const Walk *walk = &page->walk;
    if (run >= walk->run_starts.count || !is_run_kept(kept, run))
        return;
    uint32_t box = AT(&page->arena, walk->run_boxes, run);
    for (uint32_t n = 0; n <= RENDER_MAX_ANCESTOR_BOXES; n++) {
        near->boxes[near->count].node = node_at(&page->arena, walk, &walk->box_nodes, box);
        near->boxes[near->count++].box = box;
        box = AT(&page->arena, walk->box_parents, box);
    }
}

NearbyBoxes find_nearby_boxes(const KeptBlocks *kept, uint32_t slot)
{
    NearbyBoxes near = {.count = 0};
    if (slot > 0)
        add_near(kept, &near, slot - 1);
    add_near(kept, &near, slot);
    return near;
}

/* The nearby box that contains an image, directly or a few levels down. `is_lost` is set if too many elements are in
 * between. */
uint32_t find_image_box(const Node *image, const NearbyBoxes *near, bool with_noscript, bool *is_lost)
{
    const Node *node = parent_of(image);
    uint32_t boxes = 0, steps = 0;
    for (; node != NULL && boxes <= RENDER_MAX_IMAGE_BOXES; steps++, node = parent_of(node)) {
        if (steps == RENDER_MAX_IMAGE_STEPS)
            break;
        if (!is_border(node->tag, with_noscript))
            continue;
        boxes++;
        for (uint32_t n = 0; n < near->count; n++)
            if (near->boxes[n].node == node)
                return near->boxes[n].box;
    }
    *is_lost = steps == RENDER_MAX_IMAGE_STEPS;
    return NOWHERE;
}

Span images_after(Page *page, uint32_t slot)
{
    const Walk *walk = &page->walk;
    uint32_t first = slot > 0 ? bisect_right(&walk->image_positions, AT(&page->arena, walk->run_starts, slot - 1)) : 0;
    uint32_t end = slot < walk->run_starts.count ? bisect_right(&walk->image_positions, walk->run_starts.at[slot])
                                                 : walk->image_positions.count;
    return (Span){first, end};
}
