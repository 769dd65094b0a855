/* One walk through the tree collects texts, boxes, runs, links and images in columns: `html.tree`. */
#include "page.h"
#include "unicode.h"

#define KIND(name, kind) [TAG_##name] = kind,
static const uint8_t STEPS[TAG_COUNT] = {EACH_TREE_KINDS(KIND)};
#undef KIND

static const uint8_t EDGES[2] = {TREE_BREAK, ' '};

/* Elements that would be boxes beyond the limit. */
enum { EXCESS_BLOCK = TREE_HIDDEN + 1, EXCESS_CELL };

/* An open element: where the element around it ends, its kind, and its number if it is a link. */
typedef struct {
    const Node *outer_end;
    uint32_t step;
    uint32_t link;
} Entered;

typedef struct {
    Arena *arena;
    Walk *walk;
    const Node *end;        /* of the element entered last */
    LIST(Entered) entered;
    uint32_t line_break, space;     /* nodes with these texts */
    uint32_t box;
    bool is_fresh;          /* the next text begins a run */
    bool has_noscript;
} Walker;

uint32_t step_at(uint32_t tag, bool with_noscript)
{
    return with_noscript && tag == TAG_noscript ? TREE_BLOCK : STEPS[tag];
}

static bool is_link_tag(uint32_t tag)
{
    switch (tag) {
        EACH_TREE_LINK_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

static bool is_metadata_tag(uint32_t tag)
{
    switch (tag) {
        EACH_TREE_METADATA_TAGS(TAG_CASE)
        return true;
    default:
        return false;
    }
}

static uint32_t number_of(const Walk *walk, const Node *node) { return (uint32_t)(node - walk->nodes); }

static void add_text(Walker *walker, const Node *node)
{
    Walk *walk = walker->walk;
    Text text = node_text(node);
    if (walker->is_fresh && (text.size == 0 || !is_blank(text))) {
        ADD(walker->arena, walk->run_starts, walk->fragments.count);
        ADD(walker->arena, walk->run_boxes, walker->box);
        ADD(walker->arena, walk->run_nodes, number_of(walk, node));
        walker->is_fresh = false;
    }
    ADD(walker->arena, walk->fragments, number_of(walk, node));
}

static void add_fragment(Walker *walker, bool is_break)
{
    ADD(walker->arena, walker->walk->fragments, is_break ? walker->line_break : walker->space);
}

static void add_edge(Walker *walker, uint32_t step)
{
    add_fragment(walker, step == TREE_BLOCK);
    walker->is_fresh = true;
}

static uint32_t add_link_node(Walker *walker, const Node *node)
{
    Walk *walk = walker->walk;
    ADD(walker->arena, walk->link_nodes, number_of(walk, node));
    ADD(walker->arena, walk->link_starts, walk->fragments.count);
    ADD(walker->arena, walk->link_ends, walk->fragments.count);
    return walk->link_nodes.count - 1;
}

static void add_box(Walker *walker, const Node *node, uint32_t parent)
{
    Walk *walk = walker->walk;
    ADD(walker->arena, walk->box_tags, node->tag);
    ADD(walker->arena, walk->box_nodes, number_of(walk, node));
    ADD(walker->arena, walk->box_parents, parent);
    ADD(walker->arena, walk->box_starts, walk->run_starts.count);
    ADD(walker->arena, walk->box_ends, walk->run_starts.count);
}

static void record_node(Walker *walker, const Node *node)
{
    if (is_link_tag(node->tag))
        add_link_node(walker, node);
    if (is_metadata_tag(node->tag))
        ADD(walker->arena, walker->walk->metadata_nodes, number_of(walker->walk, node));
    walker->has_noscript |= node->tag == TAG_noscript;
}

/* Record links and metadata within an invisible element. */
static void record_hidden(Walker *walker, const Node *hidden)
{
    for (const Node *node = hidden, *end = end_of(hidden); node < end; node = attributes_end(node))
        record_node(walker, node);
}

/* An element whose content is not read. */
static void record_void(Walker *walker, uint32_t step, const Node *node)
{
    Walk *walk = walker->walk;
    switch (step) {
    case TREE_LINE:
        add_fragment(walker, true);
        walk->line_breaks++;
        break;
    case TREE_HIDDEN:
        record_hidden(walker, node);
        break;
    case TREE_METADATA:
        record_node(walker, node);
        break;
    default:
        add_fragment(walker, false);
        if (step == TREE_IMAGE) {
            ADD(walker->arena, walk->image_positions, walk->fragments.count);
            ADD(walker->arena, walk->images, number_of(walk, node));
        }
    }
}

/* Enter an element that may contain text, and return the next node. */
static const Node *enter_element(Walker *walker, uint32_t step, const Node *node)
{
    Walk *walk = walker->walk;
    const Node *content = attributes_end(node), *end = end_of(node);
    uint32_t link = 0;
    if (step == TREE_LINK) {
        link = add_link_node(walker, node);
    } else if (step != TREE_INLINE && walk->is_full) {
        step = step == TREE_BLOCK ? EXCESS_BLOCK : EXCESS_CELL;
        add_fragment(walker, step == EXCESS_BLOCK);
    } else if (step != TREE_INLINE) {
        add_edge(walker, step);
        add_box(walker, node, walker->box);
        walk->is_full = walk->box_tags.count == TREE_MAX_BOXES;
        walk->scored_runs = walk->run_starts.count;
    }
    if (content == end) {
        if (step == TREE_BLOCK || step == EXCESS_BLOCK)
            add_fragment(walker, true);
        return end;
    }
    if (step == TREE_BLOCK || step == TREE_CELL)
        walker->box = walk->box_tags.count - 1;
    ADD(walker->arena, walker->entered, ((Entered){walker->end, step, link}));
    walker->end = end;
    return content;
}

/* Leave the element entered last. */
static void leave_element(Walker *walker)
{
    Walk *walk = walker->walk;
    Entered left = walker->entered.at[--walker->entered.count];
    if (left.step == TREE_LINK) {
        AT(walker->arena, walk->link_ends, left.link) = walk->fragments.count;
    } else if (left.step > TREE_LINK) {
        add_fragment(walker, left.step == EXCESS_BLOCK);
    } else if (left.step != TREE_INLINE) {
        add_edge(walker, left.step);
        AT(walker->arena, walk->box_ends, walker->box) = walk->run_starts.count;
        walker->box = AT(walker->arena, walk->box_parents, walker->box);
    }
    walker->end = left.outer_end;
}

static bool walk_tree(Page *page, Walk *walk, bool with_noscript)
{
    const Node *root = page->nodes.at, *node = attributes_end(root);
    uint32_t edges = root->span;
    *walk = (Walk){.nodes = root, .with_noscript = with_noscript};
    Walker walker = {.arena = &page->arena, .walk = walk, .end = end_of(root), .line_break = edges, .space = edges + 1,
                     .is_fresh = true};
    add_box(&walker, root, 0);
    for (;;) {
        if (node == walker.end) {
            if (walker.entered.count == 0)
                break;
            leave_element(&walker);
            continue;
        }
        if (is_text(node)) {
            add_text(&walker, node);
            node++;
            continue;
        }
        uint32_t step = step_at(node->tag, with_noscript);
        if (step > TREE_LINK) {
            record_void(&walker, step, node);
            node = end_of(node);
        } else {
            node = enter_element(&walker, step, node);
        }
    }
    AT(&page->arena, walk->box_ends, 0) = walk->run_starts.count;
    return walker.has_noscript;
}

/* The approximate number of visible characters. */
static uint32_t count_visible_chars(const Walk *walk)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < walk->fragments.count && count < DOM_MIN_NOSCRIPT_CHARS; n++)
        count += count_characters(strip_text(fragment_text(walk, n)));
    return count;
}

/* The fragments that are no texts of the page: nodes behind the tree, the line break first. */
static void add_edges(Page *page)
{
    for (uint32_t n = 0; n < sizeof EDGES; n++)
        ADD(&page->arena, page->nodes, ((Node){.at = &EDGES[n], .size = 1, .tag = TAG_text}));
}

void read_walk(Page *page)
{
    add_edges(page);
    bool has_noscript = walk_tree(page, &page->walk, false);
    if (!has_noscript || count_visible_chars(&page->walk) >= DOM_MIN_VISIBLE_CHARS)
        return;
    Walk unscripted;
    walk_tree(page, &unscripted, true);
    if (count_visible_chars(&unscripted) >= DOM_MIN_NOSCRIPT_CHARS)
        page->walk = unscripted;
}
