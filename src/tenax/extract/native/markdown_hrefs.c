/* Where the links and pictures of the kept parts of a page lead: as written, for Python to make addresses of, and which
 * address it made of each. */
#include "markdown.h"

#define MAX_HREF_BYTES 65536 /* as markdown_inline has it */

Kept count_kept_blocks(Page *page)
{
    Kept kept = {.page = page};
    if (page->selection.kept.count != page->blocks.texts.count)
        page_fail(&page->arena, "not every block was judged");
    FILL(&page->arena, kept.before, page->selection.kept.count + 1);
    for (uint32_t block = 0; block < page->selection.kept.count; block++)
        kept.before.at[block + 1] = kept.before.at[block] + page->selection.kept.at[block];
    return kept;
}

bool is_run_kept(const Kept *kept, uint32_t run)
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

uint32_t kept_in(const Kept *kept, uint32_t box)
{
    Arena *arena = &kept->page->arena;
    Span span = span_of(kept->page, box);
    return AT(arena, kept->before, span.end) - AT(arena, kept->before, span.first);
}

uint32_t link_around(Page *page, uint32_t run)
{
    const Walk *walk = &page->walk;
    uint32_t start = AT(&page->arena, walk->run_starts, run), after = bisect_left(&walk->link_starts, start);
    return after > 0 && AT(&page->arena, walk->link_ends, after - 1) > start ? after - 1 : NOWHERE;
}

Node *link_of_image(Page *page, uint32_t place)
{
    const Walk *walk = &page->walk;
    uint32_t after = bisect_left(&walk->link_starts, place);
    if (after == 0 || AT(&page->arena, walk->link_ends, after - 1) < place)
        return NULL;
    Node *link = AT(&page->arena, walk->leading, after - 1);
    return link->tag == TAG_a ? link : NULL;
}

typedef struct {
    Page *page;
    Texts hrefs;
    uint32_t link, image;   /* those before are of runs before */
} Gathered;

static void add_href(Gathered *gathered, const Node *element)
{
    if (element->tag != TAG_a)
        return;
    Text href = get_attribute(element, "href");
    if (href.size && href.size <= MAX_HREF_BYTES)
        ADD(&gathered->page->arena, gathered->hrefs, href);
}

/* Of the links that a run stands in, wholly or in part. */
static void add_links(Gathered *gathered, uint32_t run)
{
    Page *page = gathered->page;
    Arena *arena = &page->arena;
    const Walk *walk = &page->walk;
    uint32_t start = AT(arena, walk->run_starts, run), link = gathered->link;
    uint32_t stop = run + 1 < walk->run_starts.count ? walk->run_starts.at[run + 1] : walk->fragments.count;
    while (link < walk->link_starts.count && walk->link_starts.at[link] < start)
        link++;
    if (link > 0 && AT(arena, walk->link_ends, link - 1) > start)
        add_href(gathered, AT(arena, walk->leading, link - 1));
    const Node *node = AT(arena, walk->run_nodes, run)->parent;
    for (uint32_t n = 0; n < MAX_AROUND && node != NULL && !is_border(node->tag, walk->with_noscript); n++) {
        add_href(gathered, node);
        node = node->parent;
    }
    for (; link < walk->link_starts.count && walk->link_starts.at[link] < stop; link++)
        if (AT(arena, walk->leading, link)->first_child != NULL)
            add_href(gathered, walk->leading.at[link]);
    gathered->link = link;
}

/* Of a format_image near kept runs, and of the link around it. */
static void add_picture(Gathered *gathered, const Near *near, uint32_t number)
{
    Page *page = gathered->page;
    Arena *arena = &page->arena;
    const Node *image = AT(arena, page->walk.images, number);
    bool is_lost = false;
    if (find_image_box(image, near, page->walk.with_noscript, &is_lost) == NOWHERE && !is_lost)
        return;
    Text href = read_image(arena, image).href;
    if (href.size == 0)
        return;
    ADD(arena, gathered->hrefs, href);
    Node *link = link_of_image(page, AT(arena, page->walk.image_positions, number));
    if (link != NULL)
        add_href(gathered, link);
}

/* Of the pictures between a run and the next, if one of them is kept. */
static void add_pictures(Gathered *gathered, const Kept *kept, uint32_t slot, bool is_near)
{
    const Walk *walk = &gathered->page->walk;
    uint32_t end = slot < walk->run_starts.count ? walk->run_starts.at[slot] : UINT32_MAX, first = gathered->image;
    while (gathered->image < walk->image_positions.count && walk->image_positions.at[gathered->image] <= end)
        gathered->image++;
    if (!is_near || first == gathered->image)
        return;
    Near near = find_nearby_boxes(kept, slot);
    for (uint32_t number = first; number < gathered->image; number++)
        add_picture(gathered, &near, number);
}

Hrefs collect_hrefs(const Kept *kept)
{
    Page *page = kept->page;
    Arena *arena = &page->arena;
    Gathered gathered = {.page = page};
    bool is_last_kept = false;
    for (uint32_t run = 0; run < page->walk.run_starts.count; run++) {
        bool is_kept = is_run_kept(kept, run);
        add_pictures(&gathered, kept, run, is_kept || is_last_kept);
        if (is_kept)
            add_links(&gathered, run);
        is_last_kept = is_kept;
    }
    add_pictures(&gathered, kept, page->walk.run_starts.count, is_last_kept);
    Hrefs hrefs = {.numbers = make_table(arena, gathered.hrefs.count)};
    for (uint32_t n = 0; n < gathered.hrefs.count; n++)
        if (add_key(arena, &hrefs.numbers, gathered.hrefs.at[n]) == hrefs.hrefs.count)
            ADD(arena, hrefs.hrefs, gathered.hrefs.at[n]);
    return hrefs;
}

Text address_of(Arena *arena, const Hrefs *hrefs, Text href)
{
    if (href.size == 0 || href.size > MAX_HREF_BYTES)
        return (Text){NULL, 0};
    uint32_t number = find_key(&hrefs->numbers, href);
    if (number == NO_KEY)
        page_fail(arena, "an href without an address");
    return AT(arena, *hrefs->addresses, number);
}

Text read_link_href(Arena *arena, const Hrefs *hrefs, const Node *element)
{
    return address_of(arena, hrefs, get_attribute(element, "href"));
}

void pack_markdown_hrefs(Page *page, Pack *pack)
{
    table_seed();
    Kept kept = count_kept_blocks(page);
    Hrefs hrefs = collect_hrefs(&kept);
    pack_array(pack, hrefs.hrefs.count);
    for (uint32_t n = 0; n < hrefs.hrefs.count; n++)
        pack_text(pack, hrefs.hrefs.at[n]);
}
