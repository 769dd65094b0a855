/* One walk through the tree collects texts, boxes, runs, links and images in columns: `html.tree`. */
#include "page.h"
#include "unicode.h"

#define KIND(name, kind) [TAG_##name] = kind,
static const uint8_t STEPS[TAG_COUNT] = {EACH_TREE_KINDS(KIND)};
#undef KIND

static const uint8_t EDGES[2] = {TREE_BREAK, ' '};
static const Text BREAK_TEXT = {EDGES, 1}, SPACE_TEXT = {EDGES + 1, 1};

/* Elements that would be boxes beyond the limit. */
enum { EXCESS_BLOCK = TREE_HIDDEN + 1, EXCESS_CELL };

/* An open element: the node after its end, its kind, and its number if it is a link. */
typedef struct {
    Node *next;
    uint32_t step;
    uint32_t link;
} Entered;

typedef struct {
    Arena *arena;
    Walk *walk;
    LIST(Entered) entered;
    uint32_t box;
    bool is_fresh;          /* the next text begins a run */
    bool has_noscript;
} Walker;

uint32_t step_at(uintptr_t tag, bool with_noscript)
{
    if (tag >= TAG_COUNT)
        return TREE_INLINE;
    return with_noscript && tag == TAG_noscript ? TREE_BLOCK : STEPS[tag];
}

static uint32_t known_tag(uintptr_t tag)
{
    return tag < TAG_COUNT ? (uint32_t)tag : TAG_COUNT;
}

static bool is_link_tag(uintptr_t tag)
{
    switch (tag) {
        EACH_TREE_LINK_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

static bool is_metadata_tag(uintptr_t tag)
{
    switch (tag) {
        EACH_TREE_METADATA_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

static void add_text(Walker *walker, Text text, Node *node)
{
    Walk *walk = walker->walk;
    if (walker->is_fresh && (text.size == 0 || !is_blank(text))) {
        ADD(walker->arena, walk->run_starts, walk->fragments.count);
        ADD(walker->arena, walk->run_boxes, walker->box);
        ADD(walker->arena, walk->run_nodes, node);
        walker->is_fresh = false;
    }
    ADD(walker->arena, walk->fragments, text);
}

static void add_edge(Walker *walker, uint32_t step)
{
    ADD(walker->arena, walker->walk->fragments, step == TREE_BLOCK ? BREAK_TEXT : SPACE_TEXT);
    walker->is_fresh = true;
}

static uint32_t add_link_node(Walker *walker, Node *node)
{
    Walk *walk = walker->walk;
    ADD(walker->arena, walk->link_nodes, node);
    ADD(walker->arena, walk->link_starts, walk->fragments.count);
    ADD(walker->arena, walk->link_ends, walk->fragments.count);
    return walk->link_nodes.count - 1;
}

static void add_box(Walker *walker, Node *node, uint32_t parent)
{
    Walk *walk = walker->walk;
    ADD(walker->arena, walk->box_tags, known_tag(node->tag));
    ADD(walker->arena, walk->box_nodes, node);
    ADD(walker->arena, walk->box_parents, parent);
    ADD(walker->arena, walk->box_starts, walk->run_starts.count);
    ADD(walker->arena, walk->box_ends, walk->run_starts.count);
}

static void record_node(Walker *walker, Node *node)
{
    if (is_link_tag(node->tag))
        add_link_node(walker, node);
    if (is_metadata_tag(node->tag))
        ADD(walker->arena, walker->walk->metadata_nodes, node);
    walker->has_noscript |= node->tag == TAG_noscript;
}

/* Record links and metadata within an invisible element. */
static void record_hidden(Walker *walker, Node *unseen)
{
    for (Node *node = unseen; node != NULL; node = next_below(unseen, node)) {
        prefetch_nodes(node);
        if (node->type != NODE_TEXT)
            record_node(walker, node);
    }
}

/* An element whose content is not read. */
static void record_void(Walker *walker, uint32_t step, Node *node)
{
    Walk *walk = walker->walk;
    switch (step) {
    case TREE_LINE:
        ADD(walker->arena, walk->fragments, BREAK_TEXT);
        walk->line_breaks++;
        break;
    case TREE_HIDDEN:
        record_hidden(walker, node);
        break;
    case TREE_METADATA:
        record_node(walker, node);
        break;
    default:
        ADD(walker->arena, walk->fragments, SPACE_TEXT);
        if (step == TREE_IMAGE) {
            ADD(walker->arena, walk->image_positions, walk->fragments.count);
            ADD(walker->arena, walk->images, node);
        }
    }
}

/* Enter an element that may contain text, and return the next node. */
static Node *enter_element(Walker *walker, uint32_t step, Node *node)
{
    Walk *walk = walker->walk;
    uint32_t link = 0;
    if (step == TREE_LINK) {
        link = add_link_node(walker, node);
    } else if (step != TREE_INLINE && walk->is_full) {
        step = step == TREE_BLOCK ? EXCESS_BLOCK : EXCESS_CELL;
        ADD(walker->arena, walk->fragments, step == EXCESS_BLOCK ? BREAK_TEXT : SPACE_TEXT);
    } else if (step != TREE_INLINE) {
        add_edge(walker, step);
        add_box(walker, node, walker->box);
        walk->is_full = walk->box_tags.count == TREE_MAX_BOXES;
        walk->scored_runs = walk->run_starts.count;
    }
    if (node->first_child == NULL) {
        if (step == TREE_BLOCK || step == EXCESS_BLOCK)
            ADD(walker->arena, walk->fragments, BREAK_TEXT);
        return node->next;
    }
    if (step == TREE_BLOCK || step == TREE_CELL)
        walker->box = walk->box_tags.count - 1;
    ADD(walker->arena, walker->entered, ((Entered){node->next, step, link}));
    return node->first_child;
}

/* Leave the element entered last, and return the next node. */
static Node *leave_element(Walker *walker)
{
    Walk *walk = walker->walk;
    Entered left = walker->entered.at[--walker->entered.count];
    if (left.step == TREE_LINK) {
        AT(walker->arena, walk->link_ends, left.link) = walk->fragments.count;
    } else if (left.step > TREE_LINK) {
        ADD(walker->arena, walk->fragments, left.step == EXCESS_BLOCK ? BREAK_TEXT : SPACE_TEXT);
    } else if (left.step != TREE_INLINE) {
        add_edge(walker, left.step);
        AT(walker->arena, walk->box_ends, walker->box) = walk->run_starts.count;
        walker->box = AT(walker->arena, walk->box_parents, walker->box);
    }
    return left.next;
}

static bool walk_tree(Arena *arena, Node *root, Walk *walk, bool with_noscript)
{
    *walk = (Walk){.with_noscript = with_noscript};
    Walker walker = {.arena = arena, .walk = walk, .is_fresh = true};
    add_box(&walker, root, 0);
    Node *node = root->first_child;
    while (node != NULL || walker.entered.count) {
        if (node == NULL) {
            node = leave_element(&walker);
            continue;
        }
        prefetch_nodes(node);
        Text text = node_text(node);
        uint32_t step = step_at(node->tag, with_noscript);
        if (text.at != NULL) {
            add_text(&walker, text, node);
            node = node->next;
        } else if (step > TREE_LINK) {
            record_void(&walker, step, node);
            node = node->next;
        } else {
            node = enter_element(&walker, step, node);
        }
    }
    AT(arena, walk->box_ends, 0) = walk->run_starts.count;
    return walker.has_noscript;
}

void walk_below(Arena *arena, Node *root, Walk *walk, bool with_noscript)
{
    walk_tree(arena, root, walk, with_noscript);
}

/* The approximate number of visible characters. */
static uint32_t count_visible_chars(const Walk *walk)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < walk->fragments.count && count < DOM_MIN_NOSCRIPT_CHARS; n++)
        count += count_characters(strip_text(walk->fragments.at[n]));
    return count;
}

void read_walk(Page *page)
{
    bool has_noscript = walk_tree(&page->arena, page->root, &page->walk, false);
    if (!has_noscript || count_visible_chars(&page->walk) >= DOM_MIN_VISIBLE_CHARS)
        return;
    Walk unscripted;
    walk_tree(&page->arena, page->root, &unscripted, true);
    if (count_visible_chars(&unscripted) >= DOM_MIN_NOSCRIPT_CHARS)
        page->walk = unscripted;
}
