/* The hrefs of links and images in the kept parts of a page: as written, for Python to resolve, and the resolved URL
 * of each. A part of `markdown.render`. */
#include "markdown.h"

KeptBlocks count_kept_blocks(Page *page)
{
    KeptBlocks kept = {.page = page};
    if (page->selection.kept.count != page->blocks.texts.count)
        page_fail(&page->arena, "not every block was scored");
    FILL(&page->arena, kept.before, page->selection.kept.count + 1);
    for (uint32_t block = 0; block < page->selection.kept.count; block++)
        kept.before.at[block + 1] = kept.before.at[block] + page->selection.kept.at[block];
    return kept;
}

bool is_run_kept(const KeptBlocks *kept, uint32_t run)
{
    Arena *arena = &kept->page->arena;
    const Numbers *firsts = &kept->page->blocks.first_of_run;
    return AT(arena, kept->before, AT(arena, *firsts, run + 1)) > AT(arena, kept->before, AT(arena, *firsts, run));
}

Span span_of(Page *page, uint32_t box)
{
    Arena *arena = &page->arena;
    const Numbers *firsts = &page->blocks.first_of_run;
    return (Span){AT(arena, *firsts, AT(arena, page->walk.box_starts, box)),
                  AT(arena, *firsts, AT(arena, page->walk.box_ends, box))};
}

uint32_t count_kept_in(const KeptBlocks *kept, uint32_t box)
{
    Arena *arena = &kept->page->arena;
    Span span = span_of(kept->page, box);
    return AT(arena, kept->before, span.end) - AT(arena, kept->before, span.first);
}

uint32_t enclosing_link(Page *page, uint32_t run)
{
    const Walk *walk = &page->walk;
    uint32_t start = AT(&page->arena, walk->run_starts, run), after = bisect_left(&walk->link_starts, start);
    return after > 0 && AT(&page->arena, walk->link_ends, after - 1) > start ? after - 1 : NOWHERE;
}

const Node *link_of_image(Page *page, uint32_t place)
{
    const Walk *walk = &page->walk;
    uint32_t after = bisect_left(&walk->link_starts, place);
    if (after == 0 || AT(&page->arena, walk->link_ends, after - 1) < place)
        return NULL;
    const Node *link = node_at(&page->arena, walk, &walk->link_nodes, after - 1);
    return link->tag == TAG_a ? link : NULL;
}

typedef struct {
    Page *page;
    Texts hrefs;
    uint32_t link, image;   /* earlier ones belong to earlier runs */
} HrefCollector;

static void add_href(HrefCollector *collector, const Node *element)
{
    if (element->tag != TAG_a)
        return;
    Text href = get_attribute(element, NAME_href);
    if (href.size && href.size <= INLINE_MAX_HREF_BYTES)
        ADD(&collector->page->arena, collector->hrefs, href);
}

/* Add the links around a run or a part of it. */
static void add_links(HrefCollector *collector, uint32_t run)
{
    Page *page = collector->page;
    Arena *arena = &page->arena;
    const Walk *walk = &page->walk;
    uint32_t start = AT(arena, walk->run_starts, run), link = collector->link;
    uint32_t stop = run + 1 < walk->run_starts.count ? walk->run_starts.at[run + 1] : walk->fragments.count;
    while (link < walk->link_starts.count && walk->link_starts.at[link] < start)
        link++;
    if (link > 0 && AT(arena, walk->link_ends, link - 1) > start)
        add_href(collector, node_at(arena, walk, &walk->link_nodes, link - 1));
    const Node *node = parent_of(node_at(arena, walk, &walk->run_nodes, run));
    for (uint32_t n = 0; n < INLINE_MAX_OPEN_ELEMENTS && node != NULL; n++) {
        if (is_border(node->tag, walk->with_noscript))
            break;
        add_href(collector, node);
        node = parent_of(node);
    }
    for (; link < walk->link_starts.count && walk->link_starts.at[link] < stop; link++)
        if (first_child(node_at(arena, walk, &walk->link_nodes, link)) != NULL)
            add_href(collector, walk->nodes + walk->link_nodes.at[link]);
    collector->link = link;
}

/* Add an image near kept runs, and the link around it. */
static void add_picture(HrefCollector *collector, const NearbyBoxes *near, uint32_t number)
{
    Page *page = collector->page;
    Arena *arena = &page->arena;
    const Node *image = node_at(arena, &page->walk, &page->walk.images, number);
    bool is_lost = false;
    if (find_image_box(image, near, page->walk.with_noscript, &is_lost) == NOWHERE && !is_lost)
        return;
    Text href = read_image(arena, image).href;
    if (href.size == 0)
        return;
    ADD(arena, collector->hrefs, href);
    const Node *link = link_of_image(page, AT(arena, page->walk.image_positions, number));
    if (link != NULL)
        add_href(collector, link);
}

/* Add the images between a run and the next, if one of the two is kept. */
static void add_pictures(HrefCollector *collector, const KeptBlocks *kept, uint32_t slot, bool is_near)
{
    const Walk *walk = &collector->page->walk;
    uint32_t end = slot < walk->run_starts.count ? walk->run_starts.at[slot] : UINT32_MAX, first = collector->image;
    while (collector->image < walk->image_positions.count && walk->image_positions.at[collector->image] <= end)
        collector->image++;
    if (!is_near || first == collector->image)
        return;
    NearbyBoxes near = find_nearby_boxes(kept, slot);
    for (uint32_t number = first; number < collector->image; number++)
        add_picture(collector, &near, number);
}

Hrefs collect_hrefs(const KeptBlocks *kept)
{
    Page *page = kept->page;
    Arena *arena = &page->arena;
    HrefCollector collector = {.page = page};
    bool is_last_kept = false;
    for (uint32_t run = 0; run < page->walk.run_starts.count; run++) {
        bool is_kept = is_run_kept(kept, run);
        add_pictures(&collector, kept, run, is_kept || is_last_kept);
        if (is_kept)
            add_links(&collector, run);
        is_last_kept = is_kept;
    }
    add_pictures(&collector, kept, page->walk.run_starts.count, is_last_kept);
    Hrefs hrefs = {.numbers = make_table(arena, collector.hrefs.count)};
    for (uint32_t n = 0; n < collector.hrefs.count; n++)
        if (add_key(arena, &hrefs.numbers, collector.hrefs.at[n]) == hrefs.hrefs.count)
            ADD(arena, hrefs.hrefs, collector.hrefs.at[n]);
    return hrefs;
}

Text resolved_href(Arena *arena, const Hrefs *hrefs, Text href)
{
    if (href.size == 0 || href.size > INLINE_MAX_HREF_BYTES)
        return (Text){NULL, 0};
    uint32_t number = find_key(&hrefs->numbers, href);
    if (number == NO_KEY)
        page_fail(arena, "an href without an address");
    return AT(arena, *hrefs->addresses, number);
}

Text read_link_href(Arena *arena, const Hrefs *hrefs, const Node *element)
{
    return resolved_href(arena, hrefs, get_attribute(element, NAME_href));
}

void pack_markdown_hrefs(Page *page, Pack *pack)
{
    table_seed();
    KeptBlocks kept = count_kept_blocks(page);
    Hrefs hrefs = collect_hrefs(&kept);
    pack_array(pack, hrefs.hrefs.count);
    for (uint32_t n = 0; n < hrefs.hrefs.count; n++)
        pack_text(pack, hrefs.hrefs.at[n]);
}
