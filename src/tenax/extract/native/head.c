/* The head of a page, as input for Python: `html.head`. */
#include "lexbor.h"
#include "links.h"
#include "text.h"
#include "unicode.h"

#define MAX_METADATA_ATTRIBUTES 5          /* attributes of one element */

/* dom.METADATA_ATTRIBUTES: the attributes read from metadata elements. */
typedef struct {
    uint32_t tag;
    uint32_t count;
    uint32_t names[MAX_METADATA_ATTRIBUTES];
} MetadataAttributes;

#define NAMES(tag, ...) {TAG_##tag, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), {__VA_ARGS__}},
static const MetadataAttributes METADATA_ATTRIBUTES[] = {
    EACH_DOM_METADATA_ATTRIBUTES(NAMES)
    {TAG_title, 0, {NAME_NONE}},
};
#undef NAMES

/* The attributes of one element, in the order of its names. */
typedef struct {
    const Node *node;
    const MetadataAttributes *spec;
    Text values[MAX_METADATA_ATTRIBUTES];
    bool is_there[MAX_METADATA_ATTRIBUTES];
    Text text;
} MetadataElement;

/* What was read so far: the number of values is limited. */
typedef struct {
    bool has_title, has_base;
    uint32_t scripts;
} HeadState;

static const MetadataAttributes *attributes_for_tag(uint32_t tag)
{
    for (size_t n = 0; n < sizeof METADATA_ATTRIBUTES / sizeof *METADATA_ATTRIBUTES; n++)
        if (METADATA_ATTRIBUTES[n].tag == tag)
            return &METADATA_ATTRIBUTES[n];
    return NULL;
}

static void read_attributes(MetadataElement *element)
{
    for EACH_ATTRIBUTE(element->node, one)
        for (uint32_t n = 0; n < element->spec->count; n++)
            if (one->name == element->spec->names[n]) {
                element->values[n] = value_of(one);
                element->is_there[n] = true;
                break;
            }
}

static Text first_text(const Node *node)
{
    const Node *child = first_child(node);
    return child != NULL ? node_text(child) : (Text){NULL, 0};
}

/* The index of an attribute among those of its element. */
static uint32_t index_of(const MetadataElement *element, uint32_t name)
{
    uint32_t n = 0;
    while (n + 1 < element->spec->count && element->spec->names[n] != name)
        n++;
    return n;
}

static Text value_named(const MetadataElement *element, uint32_t name)
{
    return element->values[index_of(element, name)];
}

static bool has_named(const MetadataElement *element, uint32_t name)
{
    return element->is_there[index_of(element, name)];
}

static bool is_named(const MetadataElement *meta)
{
    for (uint32_t n = 0; n < meta->spec->count; n++)
        if (meta->spec->names[n] != NAME_content && meta->values[n].size > 0)
            return true;
    return false;
}

static bool is_relation_needed(Text rel)
{
    return has_word(rel, "canonical") || has_word(rel, "alternate") || has_word(rel, "next") || has_word(rel, "feed") ||
           has_word(rel, "image_src");
}

/* Whether Python would use it. Most metadata elements are stylesheets and scripts, and passing them on takes longer
 * than checking them. */
static bool is_needed(MetadataElement *element, HeadState *state)
{
    switch (element->spec->tag) {
    case TAG_meta:
        return value_named(element, NAME_content).size > 0 && is_named(element);
    case TAG_link:
        return has_named(element, NAME_href) && is_relation_needed(value_named(element, NAME_rel));
    case TAG_base:
        if (state->has_base || !has_named(element, NAME_href))
            return false;
        return state->has_base = true;
    case TAG_title:
        element->text = first_text(element->node);
        if (state->has_title)
            return false;
        return state->has_title = true;
    default:
        if (state->scripts == HEAD_MAX_SCRIPTS ||
            !contains_ignoring_case(value_named(element, NAME_type), "ld+json"))
            return false;
        element->text = first_text(element->node);
        state->scripts += element->text.size > 0;
        return element->text.size > 0;
    }
}

static void pack_metadata_element(Pack *pack, const MetadataElement *element)
{
    const Node *parent = parent_of(element->node);
    uint32_t there = 0;
    for (uint32_t n = 0; n < element->spec->count; n++)
        there += element->is_there[n];
    pack_array(pack, 4);
    pack_int(pack, number_of_tag(element->spec->tag));
    pack_bool(pack, parent != NULL && parent->tag == TAG_head);
    pack_map(pack, there);
    for (uint32_t n = 0; n < element->spec->count; n++)
        if (element->is_there[n]) {
            pack_literal(pack, name_of_attribute(element->spec->names[n]));
            pack_text(pack, element->values[n]);
        }
    pack_text(pack, element->text);
}

static void pack_metadata_elements(Page *page, Pack *pack)
{
    LIST(MetadataElement) elements = {0};
    HeadState state = {0};
    for (uint32_t n = 0; n < page->walk.metadata_nodes.count; n++) {
        const Node *node = page->walk.nodes + page->walk.metadata_nodes.at[n];
        MetadataElement element = {.node = node, .spec = attributes_for_tag(node->tag)};
        if (element.spec == NULL)
            continue;
        read_attributes(&element);
        if (is_needed(&element, &state))
            ADD(&page->arena, elements, element);
    }
    pack_array(pack, elements.count);
    for (uint32_t n = 0; n < elements.count; n++)
        pack_metadata_element(pack, &elements.at[n]);
}

/* The texts of the first boxes with one of these tags. */
static void pack_headings(Page *page, Pack *pack, uint32_t tag, uint32_t other_tag)
{
    const Numbers *tags = &page->walk.box_tags;
    uint32_t boxes[DOM_MAX_HEADINGS], count = 0;
    for (uint32_t box = 0; box < tags->count && count < DOM_MAX_HEADINGS; box++)
        if (tags->at[box] == tag || tags->at[box] == other_tag)
            boxes[count++] = box;
    pack_array(pack, count);
    for (uint32_t n = 0; n < count; n++)
        pack_text(pack, box_text(&page->arena, &page->walk, boxes[n]));
}

void pack_head(Page *page, Pack *pack, uint32_t clauses)
{
    pack_array(pack, 6);
    pack_metadata_elements(page, pack);
    pack_text(pack, get_attribute(page->nodes.at, NAME_lang));
    pack_text(pack, get_attribute(page->nodes.at, NAME_xml_lang));
    pack_headings(page, pack, TAG_h1, TAG_h1);
    pack_headings(page, pack, TAG_h2, TAG_h3);
    pack_int(pack, clauses);
}

static bool is_quote(uint8_t byte) { return byte == '"' || byte == '\''; }

static bool is_name_letter(uint8_t byte) { return ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') || byte == '_'; }

/* Whether a word of head._SCRIPT_DATE_WORDS is followed by the beginning of head._SCRIPT_DATE, up to the first
 * digit. Where the script ends before that, the next one may continue it. */
static bool may_be_script_date(const uint8_t *at, const uint8_t *end)
{
    for (uint32_t n = 0; n < HEAD_MAX_DATE_NAME_LETTERS && at < end && is_name_letter(*at); n++)
        at++;
    at += at < end && is_quote(*at);
    at += space_at(at, end);
    if (at < end && *at++ != ':')
        return false;
    at += space_at(at, end);
    if (at < end && !is_quote(*at++))
        return false;
    return at == end || (*at >= '0' && *at <= '9') || *at >= 0x80;
}

static bool may_have_script_date(Text script, Text word)
{
    uint32_t at = 0;
    while ((at = find(script, word, at)) != UINT32_MAX) {
        at += word.size;
        if (may_be_script_date(script.at + at, script.at + script.size))
            return true;
    }
    return false;
}

bool may_have_script_dates(const Page *page)
{
    static const Text STAMPED[] = {{(const uint8_t *)"ublish", 6}, {(const uint8_t *)"reated", 6}};
    for (uint32_t n = 0; n < page->scripts.count; n++) {
        Text script = first_text(page->nodes.at + page->scripts.at[n]);
        if (script.size > 0 && (may_have_script_date(script, STAMPED[0]) || may_have_script_date(script, STAMPED[1])))
            return true;
    }
    return false;
}
