/* Texts behind the longest text that is read of a page are taken out of its tree: `parse.long_text`. */
#include "page.h"
#include "unicode.h"

#define LEAST_CHARS 12

#define EXPORT __attribute__((visibility("default")))

static void take_out(Node *node)
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

static void shorten(Node *node, uint32_t most_chars)
{
    CharacterData *data = (CharacterData *)node;
    data->size = first_characters(node_text(node), most_chars).size;
    ((uint8_t *)(uintptr_t)data->at)[data->size] = 0;
}

/* The node after all that is in this one. */
static Node *next_beside(const Node *root, Node *node)
{
    while (node != root && node->next == NULL)
        node = node->parent;
    return node == root ? NULL : node->next;
}

/* Whether anything was taken out. The tree is not open in any page. */
EXPORT bool native_truncate_text(Node *root, uint32_t most_chars)
{
    uint32_t left = most_chars;
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
        if (chars && chars < LEAST_CHARS)
            chars = LEAST_CHARS;
        if (is_cut || (chars && !left)) {
            take_out(node);
            is_cut = true;
        } else if (chars > left) {
            shorten(node, left);
            is_cut = true;
        } else {
            left -= chars;
        }
        node = next;
    }
    return is_cut;
}
