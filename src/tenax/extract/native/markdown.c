/* Renders the kept blocks of a page as Markdown, all of their words and no others: `markdown.render`. */
#include "markdown.h"
#include "unicode.h"

struct MarkdownWriter {
    Page *page;
    Arena *arena;
    KeptBlocks kept;
    Hrefs hrefs;
    BlockContexts contexts;
    MarkdownOutput output;
    InlineRun run;
    Languages languages;
    Buffer buffer;                /* output whose destination is not known yet */
    Buffer cell;
    uint32_t used_link;
    uint32_t shown;         /* number of images in the run read last */
    Numbers rules;          /* boxes */
    Numbers rule_runs;
    Bytes has_images_before;      /* whether there are images before each run, and finally after all of them */
};

static const Text NOTHING = {(const uint8_t *)"", 0};

static Text href_of(MarkdownWriter *writer, uint32_t link)
{
    const Walk *walk = &writer->page->walk;
    const Node *node = node_at(writer->arena, walk, &walk->link_nodes, link);
    return node->tag == TAG_a ? read_link_href(writer->arena, &writer->hrefs, node) : NOTHING;
}

/* The href of a link that began before the run: used for the first run it encloses, as on a card with a title. */
static Text take_enclosing_href(MarkdownWriter *writer, uint32_t run)
{
    uint32_t link = enclosing_link(writer->page, run);
    if (link == NOWHERE || link == writer->used_link)
        return NOTHING;
    writer->used_link = link;
    return href_of(writer, link);
}

static bool is_in_box_itself(const MarkdownWriter *writer, const Node *node)
{
    const Node *parent = parent_of(node);
    return parent != NULL && is_border(parent->tag, writer->page->walk.with_noscript);
}

static const Node *node_of_run(const MarkdownWriter *writer, uint32_t run)
{
    const Walk *walk = &writer->page->walk;
    return node_at(writer->arena, walk, &walk->run_nodes, run);
}

static void read_run_at(MarkdownWriter *writer, uint32_t run)
{
    read_run(&writer->run, node_of_run(writer, run), take_enclosing_href(writer, run));
    writer->shown = writer->run.pictures;
}

/* Whether all text of a run is one node, directly in its box and in no link. */
static bool is_plain(MarkdownWriter *writer, uint32_t run, Text text)
{
    const Walk *walk = &writer->page->walk;
    const Numbers *firsts = &writer->page->blocks.first_of_run;
    uint32_t start = AT(writer->arena, walk->run_starts, run);
    if (AT(writer->arena, *firsts, run + 1) - AT(writer->arena, *firsts, run) != 1)
        return false;
    if (start + 1 < walk->fragments.count) {
        Text after = fragment_text(walk, start + 1);
        if (after.size != 1 || after.at[0] != TREE_BREAK)
            return false;
    }
    if (!is_in_box_itself(writer, node_of_run(writer, run)))
        return false;
    if (text.size && memchr(text.at, '\n', text.size) != NULL)
        return false;
    uint32_t link = enclosing_link(writer->page, run);
    return link == NOWHERE || link == writer->used_link || href_of(writer, link).size == 0;
}

static void add_plain(MarkdownWriter *writer, const BlockContext *context, Text text)
{
    writer->shown = 0;
    writer->buffer.count = 0;
    put_text(&writer->buffer, escape_text(writer->arena, text));
    escape_line_start(&writer->buffer, 0);
    if (writer->buffer.count)
        output_add_block(&writer->output, context->chain, written(&writer->buffer, 0));
}

static void add_paragraph(MarkdownWriter *writer, const BlockContext *context, uint32_t paragraph)
{
    Buffer *buffer = &writer->buffer;
    buffer->count = 0;
    if (context->is_term) {
        put_literal(buffer, "**");
        put_on_one_line(buffer, &writer->run, paragraph, INLINE_EM | INLINE_STRONG);
        if (buffer->count == 2)
            return;
        put_literal(buffer, "**");
    } else {
        put_paragraph(buffer, &writer->run, paragraph);
    }
    if (buffer->count)
        output_add_block(&writer->output, context->chain, written(buffer, 0));
}

/* Add the kept paragraphs of a run. */
static void add_run(MarkdownWriter *writer, const BlockContext *context, uint32_t run)
{
    const Numbers *firsts = &writer->page->blocks.first_of_run;
    uint32_t first = AT(writer->arena, *firsts, run), end = AT(writer->arena, *firsts, run + 1);
    read_run_at(writer, run);
    /* The last run of a truncated page has more paragraphs than blocks. */
    for (uint32_t n = 0; n < end - first && n < writer->run.paragraphs.count; n++)
        if (AT(writer->arena, writer->page->selection.kept, first + n))
            add_paragraph(writer, context, n);
}

/* Whether a run fills its box and is in no link, as in most cells. */
static bool is_single_text(const MarkdownWriter *writer, uint32_t run)
{
    const Node *node = node_of_run(writer, run);
    return next_of(node) == NULL && is_in_box_itself(writer, node) && enclosing_link(writer->page, run) == NOWHERE;
}

static void put_single_text(MarkdownWriter *writer, Buffer *buffer, uint32_t run)
{
    const Walk *walk = &writer->page->walk;
    Text raw = fragment_at(writer->arena, walk, AT(writer->arena, walk->run_starts, run));
    put_text(buffer, escape_text(writer->arena, collapse_spaces(writer->arena, strip_text(raw))));
    writer->shown = 0;
}

/* Separate what was written since `from` from the text before it, if it is not empty. */
static void separate_words(Buffer *buffer, uint32_t begin, uint32_t from)
{
    if (from > begin && buffer->count > from)
        insert_char(buffer, from, ' ');
}

/* The kept blocks of some runs; `excluded_emphasis` are styles to leave out. */
static void put_runs_on_one_line(MarkdownWriter *writer, Buffer *buffer, uint32_t run, uint32_t end,
                                 uint32_t excluded_emphasis)
{
    uint32_t begin = buffer->count;
    for (; run < end; run++) {
        uint32_t from = buffer->count;
        if (!is_run_kept(&writer->kept, run))
            continue;
        if (is_single_text(writer, run)) {
            put_single_text(writer, buffer, run);
            separate_words(buffer, begin, from);
            continue;
        }
        read_run_at(writer, run);
        const Numbers *firsts = &writer->page->blocks.first_of_run;
        uint32_t first = AT(writer->arena, *firsts, run), stop = AT(writer->arena, *firsts, run + 1);
        for (uint32_t n = 0; n < stop - first && n < writer->run.paragraphs.count; n++) {
            from = buffer->count;
            if (AT(writer->arena, writer->page->selection.kept, first + n))
                put_on_one_line(buffer, &writer->run, n, excluded_emphasis);
            separate_words(buffer, begin, from);
        }
    }
}

Text cell_text(MarkdownWriter *writer, uint32_t box, bool is_head)
{
    const Walk *walk = &writer->page->walk;
    writer->cell.count = 0;
    put_runs_on_one_line(writer, &writer->cell, AT(writer->arena, walk->box_starts, box),
                         AT(writer->arena, walk->box_ends, box), is_head ? INLINE_STRONG : 0);
    return written(&writer->cell, 0);
}

static void add_heading(MarkdownWriter *writer, const BlockContext *context, uint32_t run, uint32_t end)
{
    Buffer *buffer = &writer->buffer;
    buffer->count = 0;
    put_times(buffer, '#', context->level);
    put_char(buffer, ' ');
    uint32_t from = buffer->count;
    put_runs_on_one_line(writer, buffer, run, end, INLINE_STRONG);
    if (buffer->count == from)
        return;
    escape_closing_hashes(buffer, from);
    output_add_block(&writer->output, context->chain, written(buffer, 0));
}

/* Add captions and rows in the order of the page: some put captions below. */
static void add_table(MarkdownWriter *writer, const BlockContext *context)
{
    const DataTable *table = context->table;
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
            output_add_block(&writer->output, context->chain, written(&writer->buffer, 0));
            has_rows = true;
        }
        if (n < captions.count && captions.at[n].size)
            output_add_block(&writer->output, context->chain, captions.at[n]);
    }
}

static void add_code(MarkdownWriter *writer, const BlockContext *context)
{
    writer->buffer.count = 0;
    put_code(&writer->buffer, &writer->languages, &writer->kept, context->owner);
    if (writer->buffer.count)
        output_add_block(&writer->output, context->chain, written(&writer->buffer, 0));
}

/* Add the container of the run, and return its last run. */
static uint32_t add_container(MarkdownWriter *writer, const BlockContext *context, uint32_t run)
{
    writer->shown = 0;
    if (context->owner == NOWHERE) {
        add_run(writer, context, run);
        return run;
    }
    uint32_t end = AT(writer->arena, writer->page->walk.box_ends, context->owner);
    if (context->table != NULL)
        add_table(writer, context);
    else if (context->is_code)
        add_code(writer, context);
    else
        add_heading(writer, context, run, end);
    return end - 1;
}

/* Add a rule if the page has one between two runs, in a box that contains both. */
static void add_rule(MarkdownWriter *writer, uint32_t last, uint32_t run)
{
    const Walk *walk = &writer->page->walk;
    uint32_t at = bisect_right(&writer->rule_runs, last);
    if (at >= writer->rules.count || writer->rule_runs.at[at] > run)
        return;
    uint32_t parent = AT(writer->arena, walk->box_parents, writer->rules.at[at]);
    if (AT(writer->arena, walk->box_starts, parent) <= last && run < AT(writer->arena, walk->box_ends, parent))
        output_add_block(&writer->output, find_context(&writer->contexts, parent)->chain,
                         (Text){(const uint8_t *)"---", 3});
}

static void put_linked_picture(MarkdownWriter *writer, Text text, uint32_t context)
{
    Buffer *buffer = &writer->buffer;
    const Node *link = link_of_image(writer->page, context);
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

/* Add the images before a run that are near kept blocks and not yet shown in the run before it. */
static void add_pictures(MarkdownWriter *writer, uint32_t slot, uint32_t shown)
{
    const Walk *walk = &writer->page->walk;
    Span images = images_after(writer->page, slot);
    if (shown >= images.end - images.first)
        return;
    NearbyBoxes near = find_nearby_boxes(&writer->kept, slot);
    for (uint32_t n = images.first + shown; n < images.end; n++) {
        bool is_lost = false;
        const Node *image = node_at(writer->arena, walk, &walk->images, n);
        uint32_t image_box = find_image_box(image, &near, walk->with_noscript, &is_lost);
        const BlockContext *context = image_box != NOWHERE ? find_context(&writer->contexts, image_box) : NULL;
        if (context == NULL || context->table != NULL)
            continue;
        Text text = format_image(writer->arena, &writer->hrefs, image);
        if (text.size == 0)
            continue;
        put_linked_picture(writer, text, AT(writer->arena, walk->image_positions, n));
        output_add_block(&writer->output, context->chain, written(&writer->buffer, 0));
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

static void find_runs_before_images(MarkdownWriter *writer)
{
    const Walk *walk = &writer->page->walk;
    FILL(writer->arena, writer->has_images_before, walk->run_starts.count + 1);
    uint32_t slot = 0;
    for (uint32_t n = 0; n < walk->image_positions.count; n++) {
        while (slot < walk->run_starts.count && walk->run_starts.at[slot] < walk->image_positions.at[n])
            slot++;
        writer->has_images_before.at[slot] = true;
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
        if (AT(writer->arena, writer->has_images_before, run) && (run == 0 || !is_run_kept(&writer->kept, run - 1)))
            add_pictures(writer, run, 0);
        const BlockContext *context = find_context(&writer->contexts, AT(writer->arena, blocks->boxes, block));
        /* Fast path for most runs. */
        if (context->owner == NOWHERE && !context->is_term && is_plain(writer, run, blocks->texts.at[block])) {
            add_plain(writer, context, blocks->texts.at[block]);
            next = run + 1;
        } else {
            next = add_container(writer, context, run) + 1;
        }
        if (AT(writer->arena, writer->has_images_before, next) && is_run_kept(&writer->kept, next - 1))
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
    writer.contexts = make_contexts(&writer.kept);
    writer.output.buffer.arena = writer.buffer.arena = writer.cell.arena = arena;
    FILL(arena, writer.output.markers, page->walk.box_tags.count);
    writer.run = (InlineRun){.arena = arena, .hrefs = &writer.hrefs, .with_noscript = page->walk.with_noscript};
    find_rules(&writer);
    find_runs_before_images(&writer);
    write_page(&writer);
    pack_text(pack, written(&writer.output.buffer, 0));
}
