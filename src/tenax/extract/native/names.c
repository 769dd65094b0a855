/* The names of a box besides its tag: see names.h. */
#include "names.h"

#include "class_hints.h"
#include "unicode.h"

Names names_of(const Node *element)
{
    Names names = {0};
    for EACH_ATTRIBUTE(element, one)
        switch (one->name) {
        case NAME_class: names.class = value_of(one); break;
        case NAME_id: names.id = value_of(one); break;
        case NAME_style: names.style = value_of(one); break;
        case NAME_role: names.role = value_of(one); break;
        case NAME_itemprop: names.itemprop = value_of(one); break;
        case NAME_aria_hidden: names.aria_hidden = value_of(one); break;
        case NAME_hidden: names.is_hidden = true; break;
        default: break;
        }
    return names;
}

/* The size of a letter at `at` that equals the given one to Python, ignoring case; 0 where it is another. Two
 * letters have variants beyond ASCII: a dotted and a dotless i, a long s. */
static uint32_t letter_at(const uint8_t *at, const uint8_t *end, char letter)
{
    if (at >= end)
        return 0;
    if ((*at | 0x20) == letter)
        return 1;
    if (*at < 0x80 || (letter != 'i' && letter != 's'))
        return 0;
    uint32_t size, character = character_at(at, end, &size);
    bool is_alike = letter == 's' ? character == 0x17f : character == 0x130 || character == 0x131;
    return is_alike ? size : 0;
}

/* The end of a word at `at`, ignoring case; NULL where it is another. */
static const uint8_t *after_word(const uint8_t *at, const uint8_t *end, const char *word)
{
    for (; *word; word++) {
        uint32_t size = letter_at(at, end, *word);
        if (size == 0)
            return NULL;
        at += size;
    }
    return at;
}

static const uint8_t *after_spaces(const uint8_t *at, const uint8_t *end)
{
    uint32_t size;
    while (at < end && (size = space_at(at, end)) > 0)
        at += size;
    return at;
}

static bool is_declared(const uint8_t *at, const uint8_t *end, const char *property, const char *value)
{
    if ((at = after_word(at, end, property)) == NULL)
        return false;
    at = after_spaces(at, end);
    if (at >= end || *at != ':')
        return false;
    return after_word(after_spaces(at + 1, end), end, value) != NULL;
}

static bool is_unshown(Text style)
{
    for (uint32_t place = 0; place < style.size; place++) {
        const uint8_t *at = style.at + place, *end = style.at + style.size;
        uint8_t first = *at | 0x20;
        if ((first == 'd' && is_declared(at, end, "display", "none"))
            || (first == 'v' && is_declared(at, end, "visibility", "hidden")))
            return true;
    }
    return false;
}

uint32_t find_attribute_hints(Page *page, const Names *names)
{
    uint32_t found = 0;
    if (names->id.size)
        found |= find_name_hints(page, names->id);
    if (names->itemprop.size)
        found |= find_name_hints(page, names->itemprop);
    if (names->role.size)
        found |= find_role_hints(names->role);
    if (names->is_hidden || text_is(names->aria_hidden, "true") || is_unshown(names->style))
        found |= HINT_BIT(unshown);
    return found;
}
