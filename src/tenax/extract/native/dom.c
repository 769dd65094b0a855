/* See dom.h. */
#include "dom.h"

Text known_names[KNOWN_NAMES];

static Lexbor lexbor;

void native_set_lexbor(const Lexbor *functions)
{
    lexbor = *functions;
    for (uintptr_t number = 0; number < KNOWN_NAMES; number++) {
        const Name *name = lexbor.name_by_number(NULL, number);
        /* Beyond the last one, a number is taken for an address. */
        if ((uintptr_t)name == number && number > 0)
            break;
        if (name != NULL)
            known_names[number] = text_of(name->size > SHORT_NAME ? name->letters.at : name->letters.bytes, name->size);
    }
}

static bool is_same(Text text, const uint8_t *at, size_t size)
{
    if (text.at == NULL || at == NULL)
        return text.at == NULL && at == NULL;
    return text.size == size && memcmp(text.at, at, size) == 0;
}

bool native_attributes_match(Node *element)
{
    Attribute *one = ((const Element *)element)->first_attribute;
    if (one != lexbor.first_attribute(element))
        return false;
    for (; one != NULL; one = one->next) {
        /* The fields around name and value come first: those are read only if the former are right. */
        if (one->owner != element || one->next != lexbor.next_attribute(one))
            return false;
        size_t size = 0;
        const uint8_t *at = lexbor.attribute_name(one, &size);
        if (!is_same(name_of(one), at, size))
            return false;
        at = lexbor.attribute_value(one, &size);
        if (!is_same(value_of(one), at, size))
            return false;
    }
    return true;
}

bool find_attribute(const Node *node, const char *name, Text *value)
{
    Attribute *one = NULL;
    Text found;
    while (each_attribute(node, &one, &found, value))
        if (text_is(found, name))
            return true;
    *value = (Text){NULL, 0};
    return false;
}

Text get_attribute(const Node *node, const char *name)
{
    Text value;
    find_attribute(node, name, &value);
    return value;
}
