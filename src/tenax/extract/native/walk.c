/* One walk through the tree collects texts, boxes, runs, links and images in columns: `html.tree`. */
#include "page.h"
#include "unicode.h"

#define MIN_VISIBLE_CHARS 200
#define MIN_NOSCRIPT_CHARS 500

static const uint8_t STEPS[TAG_COUNT] = {
    [TAG_area] = STEP_NOTE, [TAG_base] = STEP_NOTE, [TAG_link] = STEP_NOTE, [TAG_meta] = STEP_NOTE,
    [TAG_address] = STEP_BLOCK, [TAG_article] = STEP_BLOCK, [TAG_aside] = STEP_BLOCK, [TAG_blockquote] = STEP_BLOCK,
    [TAG_body] = STEP_BLOCK, [TAG_caption] = STEP_BLOCK, [TAG_center] = STEP_BLOCK, [TAG_dd] = STEP_BLOCK,
    [TAG_details] = STEP_BLOCK, [TAG_dialog] = STEP_BLOCK, [TAG_dir] = STEP_BLOCK, [TAG_div] = STEP_BLOCK,
    [TAG_dl] = STEP_BLOCK, [TAG_dt] = STEP_BLOCK, [TAG_fieldset] = STEP_BLOCK, [TAG_figcaption] = STEP_BLOCK,
    [TAG_figure] = STEP_BLOCK, [TAG_footer] = STEP_BLOCK, [TAG_form] = STEP_BLOCK, [TAG_frameset] = STEP_BLOCK,
    [TAG_h1] = STEP_BLOCK, [TAG_h2] = STEP_BLOCK, [TAG_h3] = STEP_BLOCK, [TAG_h4] = STEP_BLOCK, [TAG_h5] = STEP_BLOCK,
    [TAG_h6] = STEP_BLOCK, [TAG_header] = STEP_BLOCK, [TAG_hgroup] = STEP_BLOCK, [TAG_hr] = STEP_BLOCK,
    [TAG_html] = STEP_BLOCK, [TAG_legend] = STEP_BLOCK, [TAG_li] = STEP_BLOCK, [TAG_listing] = STEP_BLOCK,
    [TAG_main] = STEP_BLOCK, [TAG_menu] = STEP_BLOCK, [TAG_nav] = STEP_BLOCK, [TAG_ol] = STEP_BLOCK,
    [TAG_optgroup] = STEP_BLOCK, [TAG_p] = STEP_BLOCK, [TAG_plaintext] = STEP_BLOCK, [TAG_pre] = STEP_BLOCK,
    [TAG_search] = STEP_BLOCK, [TAG_section] = STEP_BLOCK, [TAG_summary] = STEP_BLOCK, [TAG_table] = STEP_BLOCK,
    [TAG_tbody] = STEP_BLOCK, [TAG_tfoot] = STEP_BLOCK, [TAG_thead] = STEP_BLOCK, [TAG_tr] = STEP_BLOCK,
    [TAG_ul] = STEP_BLOCK, [TAG_xmp] = STEP_BLOCK,
    [TAG_td] = STEP_CELL, [TAG_th] = STEP_CELL, [TAG_button] = STEP_CELL, [TAG_select] = STEP_CELL,
    [TAG_option] = STEP_CELL, [TAG_textarea] = STEP_CELL,
    [TAG_br] = STEP_LINE, [TAG_input] = STEP_SPACE, [TAG_img] = STEP_IMAGE, [TAG_a] = STEP_LINK,
    [TAG_head] = STEP_HIDDEN, [TAG_title] = STEP_HIDDEN, [TAG_script] = STEP_HIDDEN, [TAG_style] = STEP_HIDDEN,
    [TAG_noscript] = STEP_HIDDEN, [TAG_template] = STEP_HIDDEN, [TAG_svg] = STEP_HIDDEN, [TAG_iframe] = STEP_HIDDEN,
    [TAG_noembed] = STEP_HIDDEN, [TAG_noframes] = STEP_HIDDEN, [TAG_canvas] = STEP_HIDDEN, [TAG_audio] = STEP_HIDDEN,
    [TAG_video] = STEP_HIDDEN, [TAG_datalist] = STEP_HIDDEN, [TAG_rp] = STEP_HIDDEN, [TAG_rt] = STEP_HIDDEN,
};

static const uint8_t EDGES[2] = {BREAK, ' '};
static const Text BREAK_TEXT = {EDGES, 1}, SPACE_TEXT = {EDGES + 1, 1};

/* Elements that would be boxes beyond the limit. */
enum { EXCESS_BLOCK = STEP_HIDDEN + 1, EXCESS_CELL };

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
        return STEP_INLINE;
    return with_noscript && tag == TAG_noscript ? STEP_BLOCK : STEPS[tag];
}

static uint32_t known_tag(uintptr_t tag)
{
    return tag < TAG_COUNT ? (uint32_t)tag : TAG_COUNT;
}

static bool is_link_tag(uintptr_t tag)
{
    return tag == TAG_a || tag == TAG_area || tag == TAG_iframe || tag == TAG_link;
}

static bool is_metadata_tag(uintptr_t tag)
{
    return tag == TAG_base || tag == TAG_link || tag == TAG_meta || tag == TAG_script || tag == TAG_title;
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
    ADD(walker->arena, walker->walk->fragments, step == STEP_BLOCK ? BREAK_TEXT : SPACE_TEXT);
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
    case STEP_LINE:
        ADD(walker->arena, walk->fragments, BREAK_TEXT);
        walk->line_breaks++;
        break;
    case STEP_HIDDEN:
        record_hidden(walker, node);
        break;
    case STEP_NOTE:
        record_node(walker, node);
        break;
    default:
        ADD(walker->arena, walk->fragments, SPACE_TEXT);
        if (step == STEP_IMAGE) {
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
    if (step == STEP_LINK) {
        link = add_link_node(walker, node);
    } else if (step != STEP_INLINE && walk->is_full) {
        step = step == STEP_BLOCK ? EXCESS_BLOCK : EXCESS_CELL;
        ADD(walker->arena, walk->fragments, step == EXCESS_BLOCK ? BREAK_TEXT : SPACE_TEXT);
    } else if (step != STEP_INLINE) {
        add_edge(walker, step);
        add_box(walker, node, walker->box);
        walk->is_full = walk->box_tags.count == MAX_BOXES;
        walk->scored_runs = walk->run_starts.count;
    }
    if (node->first_child == NULL) {
        if (step == STEP_BLOCK || step == EXCESS_BLOCK)
            ADD(walker->arena, walk->fragments, BREAK_TEXT);
        return node->next;
    }
    if (step == STEP_BLOCK || step == STEP_CELL)
        walker->box = walk->box_tags.count - 1;
    ADD(walker->arena, walker->entered, ((Entered){node->next, step, link}));
    return node->first_child;
}

/* Leave the element entered last, and return the next node. */
static Node *leave_element(Walker *walker)
{
    Walk *walk = walker->walk;
    Entered left = walker->entered.at[--walker->entered.count];
    if (left.step == STEP_LINK) {
        AT(walker->arena, walk->link_ends, left.link) = walk->fragments.count;
    } else if (left.step > STEP_LINK) {
        ADD(walker->arena, walk->fragments, left.step == EXCESS_BLOCK ? BREAK_TEXT : SPACE_TEXT);
    } else if (left.step != STEP_INLINE) {
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
        } else if (step > STEP_LINK) {
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
    for (uint32_t n = 0; n < walk->fragments.count && count < MIN_NOSCRIPT_CHARS; n++)
        count += count_characters(strip_text(walk->fragments.at[n]));
    return count;
}

void read_walk(Page *page)
{
    bool has_noscript = walk_tree(&page->arena, page->root, &page->walk, false);
    if (!has_noscript || count_visible_chars(&page->walk) >= MIN_VISIBLE_CHARS)
        return;
    Walk unscripted;
    walk_tree(&page->arena, page->root, &unscripted, true);
    if (count_visible_chars(&unscripted) >= MIN_NOSCRIPT_CHARS)
        page->walk = unscripted;
}
