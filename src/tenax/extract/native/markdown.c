/* The kept blocks of a page as Markdown, every word of them and no other: `parse.markdown`. */
#include "markdown.h"
#include "unicode.h"

struct MarkdownWriter {
    Page *page;
    Arena *arena;
    Kept kept;
    Hrefs hrefs;
    BlockContexts places;
    MarkdownOutput output;
    InlineRun run;
    Languages languages;
    Buffer buffer;                /* what is written before it is known where it goes */
    Buffer cell;
    uint32_t used_link;
    uint32_t shown;         /* how many images were met in the run that was read last */
    Numbers rules;          /* boxes */
    Numbers rule_runs;
    Bytes illustrated;      /* whether there are images before each run, and at last after all of them */
};

static const Text NOTHING = {(const uint8_t *)"", 0};

static Text href_of(MarkdownWriter *writer, uint32_t link)
{
    const Node *node = AT(writer->arena, writer->page->walk.leading, link);
    return node->tag == TAG_a ? read_link_href(writer->arena, &writer->hrefs, node) : NOTHING;
}

/* Where a link leads that began before the run: for the first run it is around, as on a card with a title. */
static Text use_link_around(MarkdownWriter *writer, uint32_t run)
{
    uint32_t link = link_around(writer->page, run);
    if (link == NOWHERE || link == writer->used_link)
        return NOTHING;
    writer->used_link = link;
    return href_of(writer, link);
}

static bool is_in_box_itself(const MarkdownWriter *writer, const Node *node)
{
    return node->parent != NULL && is_border(node->parent->tag, writer->page->walk.with_noscript);
}

static void read_run_at(MarkdownWriter *writer, uint32_t run)
{
    Node *node = AT(writer->arena, writer->page->walk.run_nodes, run);
    read_run(&writer->run, node, use_link_around(writer, run));
    writer->shown = writer->run.pictures;
}

/* Whether all text of a run is one node, in its box itself and in no link. */
static bool is_plain(MarkdownWriter *writer, uint32_t run, Text text)
{
    const Walk *walk = &writer->page->walk;
    const Numbers *firsts = &writer->page->blocks.first_of_run;
    uint32_t start = AT(writer->arena, walk->run_starts, run);
    if (AT(writer->arena, *firsts, run + 1) - AT(writer->arena, *firsts, run) != 1)
        return false;
    if (start + 1 < walk->fragments.count) {
        Text after = walk->fragments.at[start + 1];
        if (after.size != 1 || after.at[0] != BREAK)
            return false;
    }
    if (!is_in_box_itself(writer, AT(writer->arena, walk->run_nodes, run)))
        return false;
    if (text.size && memchr(text.at, '\n', text.size) != NULL)
        return false;
    uint32_t link = link_around(writer->page, run);
    return link == NOWHERE || link == writer->used_link || href_of(writer, link).size == 0;
}

static void add_plain(MarkdownWriter *writer, const BlockContext *place, Text text)
{
    writer->shown = 0;
    writer->buffer.count = 0;
    put_text(&writer->buffer, escape_text(writer->arena, text));
    escape_line_start(&writer->buffer, 0);
    if (writer->buffer.count)
        output_add_block(&writer->output, place->chain, written(&writer->buffer, 0));
}

static void add_paragraph(MarkdownWriter *writer, const BlockContext *place, uint32_t paragraph)
{
    Buffer *buffer = &writer->buffer;
    buffer->count = 0;
    if (place->is_term) {
        put_literal(buffer, "**");
        put_on_one_line(buffer, &writer->run, paragraph, EM | STRONG);
        if (buffer->count == 2)
            return;
        put_literal(buffer, "**");
    } else {
        put_paragraph(buffer, &writer->run, paragraph);
    }
    if (buffer->count)
        output_add_block(&writer->output, place->chain, written(buffer, 0));
}

/* Add the kept paragraphs of a run. */
static void add_run(MarkdownWriter *writer, const BlockContext *place, uint32_t run)
{
    const Numbers *firsts = &writer->page->blocks.first_of_run;
    uint32_t first = AT(writer->arena, *firsts, run), end = AT(writer->arena, *firsts, run + 1);
    read_run_at(writer, run);
    /* The last run of a page that was read in part has more paragraphs than blocks. */
    for (uint32_t n = 0; n < end - first && n < writer->run.paragraphs.count; n++)
        if (AT(writer->arena, writer->page->selection.kept, first + n))
            add_paragraph(writer, place, n);
}

/* Whether a run is all of its box and stands in no link, as in most cells. */
static bool is_lone_text(const MarkdownWriter *writer, uint32_t run)
{
    const Node *node = AT(writer->arena, writer->page->walk.run_nodes, run);
    return node->next == NULL && is_in_box_itself(writer, node) && link_around(writer->page, run) == NOWHERE;
}

static void put_lone_text(MarkdownWriter *writer, Buffer *buffer, uint32_t run)
{
    const Walk *walk = &writer->page->walk;
    Text raw = AT(writer->arena, walk->fragments, AT(writer->arena, walk->run_starts, run));
    put_text(buffer, escape_text(writer->arena, collapse_spaces(writer->arena, strip_text(raw))));
    writer->shown = 0;
}

/* What is written from a place on stands apart from what was written before it, or not at all. */
static void part_words(Buffer *buffer, uint32_t begin, uint32_t from)
{
    if (from > begin && buffer->count > from)
        put_within(buffer, from, ' ');
}

/* The kept blocks of some runs; `but` are marks to be left out. */
static void put_runs_on_one_line(MarkdownWriter *writer, Buffer *buffer, uint32_t run, uint32_t end, uint32_t excluded_emphasis)
{
    uint32_t begin = buffer->count;
    for (; run < end; run++) {
        uint32_t from = buffer->count;
        if (!is_run_kept(&writer->kept, run))
            continue;
        if (is_lone_text(writer, run)) {
            put_lone_text(writer, buffer, run);
            part_words(buffer, begin, from);
            continue;
        }
        read_run_at(writer, run);
        const Numbers *firsts = &writer->page->blocks.first_of_run;
        uint32_t first = AT(writer->arena, *firsts, run), stop = AT(writer->arena, *firsts, run + 1);
        for (uint32_t n = 0; n < stop - first && n < writer->run.paragraphs.count; n++) {
            from = buffer->count;
            if (AT(writer->arena, writer->page->selection.kept, first + n))
                put_on_one_line(buffer, &writer->run, n, excluded_emphasis);
            part_words(buffer, begin, from);
        }
    }
}

Text cell_text(MarkdownWriter *writer, uint32_t box, bool is_head)
{
    const Walk *walk = &writer->page->walk;
    writer->cell.count = 0;
    put_runs_on_one_line(writer, &writer->cell, AT(writer->arena, walk->box_starts, box),
                         AT(writer->arena, walk->box_ends, box), is_head ? STRONG : 0);
    return written(&writer->cell, 0);
}

static void add_heading(MarkdownWriter *writer, const BlockContext *place, uint32_t run, uint32_t end)
{
    Buffer *buffer = &writer->buffer;
    buffer->count = 0;
    put_times(buffer, '#', place->level);
    put_char(buffer, ' ');
    uint32_t from = buffer->count;
    put_runs_on_one_line(writer, buffer, run, end, STRONG);
    if (buffer->count == from)
        return;
    escape_closing_hashes(buffer, from);
    output_add_block(&writer->output, place->chain, written(buffer, 0));
}

/* Add the captions and the rows where they stand on the page: some write captions below. */
static void add_table(MarkdownWriter *writer, const BlockContext *place)
{
    const DataTable *table = place->table;
    Texts captions = {0};
    for (uint32_t n = 0; n < table->captions.count; n++) {
        Buffer buffer = {.arena = writer->arena};
        put_text(&buffer, cell_text(writer, table->captions.at[n], false));
        escape_line_start(&buffer, 0);
        ADD(writer->arena, captions, written(&buffer, 0));
    }
    writer->buffer.count = 0;
    put_table(&writer->buffer, table, writer);
    bool has_rows = writer->buffer.count == 0;
    for (uint32_t n = 0; n <= captions.count; n++) {
        if (!has_rows && (n == captions.count || table->captions.at[n] > table->first_row)) {
            output_add_block(&writer->output, place->chain, written(&writer->buffer, 0));
            has_rows = true;
        }
        if (n < captions.count && captions.at[n].size)
            output_add_block(&writer->output, place->chain, captions.at[n]);
    }
}

static void add_code(MarkdownWriter *writer, const BlockContext *place)
{
    writer->buffer.count = 0;
    put_code(&writer->buffer, &writer->languages, &writer->kept, place->owner);
    if (writer->buffer.count)
        output_add_block(&writer->output, place->chain, written(&writer->buffer, 0));
}

/* Add what the run is part of, and give the last run of it. */
static uint32_t add_whole(MarkdownWriter *writer, const BlockContext *place, uint32_t run)
{
    writer->shown = 0;
    if (place->owner == NOWHERE) {
        add_run(writer, place, run);
        return run;
    }
    uint32_t end = AT(writer->arena, writer->page->walk.box_ends, place->owner);
    if (place->table != NULL)
        add_table(writer, place);
    else if (place->is_code)
        add_code(writer, place);
    else
        add_heading(writer, place, run, end);
    return end - 1;
}

/* Add a rule if the page has one between two runs, in a box that holds them both. */
static void add_rule(MarkdownWriter *writer, uint32_t last, uint32_t run)
{
    const Walk *walk = &writer->page->walk;
    uint32_t at = bisect_right(&writer->rule_runs, last);
    if (at >= writer->rules.count || writer->rule_runs.at[at] > run)
        return;
    uint32_t parent = AT(writer->arena, walk->box_parents, writer->rules.at[at]);
    if (AT(writer->arena, walk->box_starts, parent) <= last && run < AT(writer->arena, walk->box_ends, parent))
        output_add_block(&writer->output, find_context(&writer->places, parent)->chain, (Text){(const uint8_t *)"---", 3});
}

static void put_linked_picture(MarkdownWriter *writer, Text text, uint32_t place)
{
    Buffer *buffer = &writer->buffer;
    const Node *link = link_of_image(writer->page, place);
    Text href = link != NULL ? read_link_href(writer->arena, &writer->hrefs, link) : NOTHING;
    buffer->count = 0;
    if (href.size)
        put_char(buffer, '[');
    put_text(buffer, text);
    if (href.size) {
        put_literal(buffer, "](");
        put_text(buffer, href);
        put_char(buffer, ')');
    }
}

/* Add the images before a run, but for those shown in the one before it, that stand near kept ones of them. */
static void add_pictures(MarkdownWriter *writer, uint32_t slot, uint32_t shown)
{
    const Walk *walk = &writer->page->walk;
    Span images = images_after(writer->page, slot);
    if (shown >= images.end - images.first)
        return;
    Near near = find_nearby_boxes(&writer->kept, slot);
    for (uint32_t n = images.first + shown; n < images.end; n++) {
        bool is_lost = false;
        const Node *image = AT(writer->arena, walk->images, n);
        uint32_t home = find_image_box(image, &near, walk->with_noscript, &is_lost);
        const BlockContext *place = home != NOWHERE ? find_context(&writer->places, home) : NULL;
        if (place == NULL || place->table != NULL)
            continue;
        Text text = format_image(writer->arena, &writer->hrefs, image);
        if (text.size == 0)
            continue;
        put_linked_picture(writer, text, AT(writer->arena, walk->image_positions, n));
        output_add_block(&writer->output, place->chain, written(&writer->buffer, 0));
    }
}

static void find_rules(MarkdownWriter *writer)
{
    const Walk *walk = &writer->page->walk;
    for (uint32_t box = 0; box < walk->box_tags.count; box++) {
        if (walk->box_tags.at[box] != TAG_hr)
            continue;
        ADD(writer->arena, writer->rules, box);
        ADD(writer->arena, writer->rule_runs, AT(writer->arena, walk->box_starts, box));
    }
}

static void find_illustrated(MarkdownWriter *writer)
{
    const Walk *walk = &writer->page->walk;
    FILL(writer->arena, writer->illustrated, walk->run_starts.count + 1);
    uint32_t slot = 0;
    for (uint32_t n = 0; n < walk->image_positions.count; n++) {
        while (slot < walk->run_starts.count && walk->run_starts.at[slot] < walk->image_positions.at[n])
            slot++;
        writer->illustrated.at[slot] = true;
    }
}

static void write_page(MarkdownWriter *writer)
{
    const Blocks *blocks = &writer->page->blocks;
    uint32_t next = 0; /* the first run that is not added yet */
    for (uint32_t block = 0; block < blocks->texts.count; block++) {
        uint32_t run = AT(writer->arena, blocks->runs, block);
        if (!writer->page->selection.kept.at[block] || run < next)
            continue;
        if (next > 0 && writer->rules.count)
            add_rule(writer, next - 1, run);
        if (AT(writer->arena, writer->illustrated, run) && (run == 0 || !is_run_kept(&writer->kept, run - 1)))
            add_pictures(writer, run, 0);
        const BlockContext *place = find_context(&writer->places, AT(writer->arena, blocks->boxes, block));
        /* The short way, which most runs take. */
        if (place->owner == NOWHERE && !place->is_term && is_plain(writer, run, blocks->texts.at[block])) {
            add_plain(writer, place, blocks->texts.at[block]);
            next = run + 1;
        } else {
            next = add_whole(writer, place, run) + 1;
        }
        if (AT(writer->arena, writer->illustrated, next) && is_run_kept(&writer->kept, next - 1))
            add_pictures(writer, next, writer->shown);
    }
}

void pack_markdown(Page *page, const Texts *addresses, Pack *pack)
{
    Arena *arena = &page->arena;
    MarkdownWriter writer = {.page = page, .arena = arena, .kept = count_kept_blocks(page), .used_link = NOWHERE};
    writer.hrefs = collect_hrefs(&writer.kept);
    writer.hrefs.addresses = addresses;
    if (addresses->count != writer.hrefs.hrefs.count)
        page_fail(arena, "not every href has an address");
    writer.places = make_contexts(&writer.kept);
    writer.output.buffer.arena = writer.buffer.arena = writer.cell.arena = arena;
    FILL(arena, writer.output.signs, page->walk.box_tags.count);
    writer.run = (InlineRun){.arena = arena, .hrefs = &writer.hrefs, .with_noscript = page->walk.with_noscript};
    find_rules(&writer);
    find_illustrated(&writer);
    write_page(&writer);
    pack_text(pack, written(&writer.output.buffer, 0));
}
