/* Removes texts beyond the text limit of a page from its tree: `extract.document`. */
#include "page.h"
#include "unicode.h"

#define EXPORT __attribute__((visibility("default")))

static void remove_node(Node *node)
{
    if (node->previous != NULL)
        node->previous->next = node->next;
    else if (node->parent != NULL)
        node->parent->first_child = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    else if (node->parent != NULL)
        node->parent->last_child = node->previous;
    node->parent = node->next = node->previous = NULL;
}

static void truncate_node(Node *node, uint32_t max_chars)
{
    CharacterData *data = (CharacterData *)node;
    data->size = first_characters(node_text(node), max_chars).size;
    ((uint8_t *)(uintptr_t)data->at)[data->size] = 0;
}

/* The node after this one and its descendants. */
static Node *next_beside(const Node *root, Node *node)
{
    while (node != root && node->next == NULL)
        node = node->parent;
    return node == root ? NULL : node->next;
}

/* Whether anything was removed. The tree must not be open in any page. */
EXPORT bool native_truncate_text(Node *root, uint32_t max_chars)
{
    uint32_t left = max_chars;
    bool is_cut = false;
    for (Node *node = root; node != NULL;) {
        Text text = node_text(node);
        if (text.at == NULL) {
            bool is_read = is_entered(node->tag) || node->tag == TAG_noscript;
            node = is_read ? next_below(root, node) : next_beside(root, node);
            continue;
        }
        Node *next = next_beside(root, node);
        uint32_t chars = is_cut || text.size == 0 || is_blank(text) ? 0 : count_characters(text);
        if (chars && chars < TEXT_LIMIT_MIN_TEXT_CHARS)
            chars = TEXT_LIMIT_MIN_TEXT_CHARS;
        if (is_cut || (chars && !left)) {
            remove_node(node);
            is_cut = true;
        } else if (chars > left) {
            truncate_node(node, left);
            is_cut = true;
        } else {
            left -= chars;
        }
        node = next;
    }
    return is_cut;
}
