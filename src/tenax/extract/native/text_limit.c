/* Removes texts beyond the text limit of a page from its tree: `extract.document`. */
#include "lexbor.h"
#include "page.h"
#include "unicode.h"

#define EXPORT __attribute__((visibility("default")))

/* The node after this one, in a child of it if there is one that is read. */
static LexborNode *next_read(const LexborNode *root, LexborNode *node, uint32_t tag)
{
    LexborNode *child = is_entered(tag) || tag == TAG_noscript ? lexbor.first_child(node) : NULL;
    return child != NULL ? child : lexbor_next_beside(root, node);
}

/* Whether anything was removed. The tree must not be open in any page. */
EXPORT bool native_truncate_text(LexborNode *root, uint32_t max_chars)
{
    uint32_t left = max_chars;
    bool is_cut = false;
    for (LexborNode *node = root, *next; node != NULL; node = next) {
        uint32_t tag = lexbor_tag(node);
        Text text = tag == TAG_text ? lexbor_text(node) : (Text){NULL, 0};
        if (text.at == NULL) {
            next = next_read(root, node, tag);
            continue;
        }
        next = lexbor_next_beside(root, node);
        uint32_t chars = is_cut || text.size == 0 || is_blank(text) ? 0 : count_characters(text);
        if (chars && chars < TEXT_LIMIT_MIN_TEXT_CHARS)
            chars = TEXT_LIMIT_MIN_TEXT_CHARS;
        if (is_cut || (chars && !left)) {
            lexbor.remove(node);
            is_cut = true;
        } else if (chars > left) {
            lexbor.set_text(node, text.at, first_characters(text, left).size);
            is_cut = true;
        } else {
            left -= chars;
        }
    }
    return is_cut;
}
