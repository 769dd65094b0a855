/* Data tables as Markdown, and their detection: `markdown.tables`. */
#include "markdown.h"

static bool is_never_in_data(uint32_t tag)
{
    switch (tag) {
        EACH_TABLES_NEVER_IN_TABLE(TAG_CASE)
        return true;
    default:
        return false;
    }
}

static uint32_t parse_span(Text text, uint32_t most)
{
    uint32_t number = 0;
    for (uint32_t at = 0; at < text.size; at++) {
        if (text.at[at] < '0' || text.at[at] > '9')
            return 1;
        if (at < TABLES_MAX_SPAN_DIGITS)
            number = number * 10 + (text.at[at] - '0');
    }
    number = number > 1 ? number : 1;
    return number < most ? number : most;
}

static Cell cell_of(const Page *page, uint32_t box)
{
    Cell cell = {box, 1, 1, page->walk.box_tags.at[box] == TAG_th};
    for EACH_ATTRIBUTE(page->walk.nodes + page->walk.box_nodes.at[box], one) {
        if (one->name == NAME_colspan)
            cell.columns = parse_span(value_of(one), TABLES_MAX_COLUMNS);
        else if (one->name == NAME_rowspan)
            cell.rows = parse_span(value_of(one), TABLES_MAX_ROWS);
    }
    return cell;
}

static uint32_t runs_in(const Walk *walk, uint32_t box) { return walk->box_ends.at[box] - walk->box_starts.at[box]; }

static bool is_small_cell(Page *page, uint32_t box)
{
    Span span = span_of(page, box);
    const Numbers *chars = &page->blocks.chars_before;
    return span.end - span.first <= TABLES_MAX_CELL_BLOCKS &&
           AT(&page->arena, *chars, span.end) - AT(&page->arena, *chars, span.first) <= TABLES_MAX_CELL_CHARS;
}

/* The rows of a box, unless something shows that it is no data table. */
static bool read_table(Page *page, uint32_t box, DataTable *table)
{
    const Walk *walk = &page->walk;
    uint32_t runs = 0;
    for (uint32_t at = box + 1; at < walk->box_tags.count && walk->box_parents.at[at] >= box; at++) {
        uint32_t tag = walk->box_tags.at[at];
        if (is_never_in_data(tag))
            return false;
        if (tag == TAG_tr) {
            if (table->rows.count == 0) {
                table->first_row = at;
                table->has_thead = AT(&page->arena, walk->box_tags, walk->box_parents.at[at]) == TAG_thead;
            }
            ADD(&page->arena, table->rows, table->cells.count);
        } else if ((tag == TAG_td || tag == TAG_th) && table->rows.count) {
            if (!is_small_cell(page, at))
                return false;
            ADD(&page->arena, table->cells, cell_of(page, at));
            runs += runs_in(walk, at);
        } else if (tag == TAG_caption) {
            ADD(&page->arena, table->captions, at);
            runs += runs_in(walk, at);
        }
    }
    /* No run may be outside of the cells or in two of them, which nested cells of formulas allow. */
    return table->rows.count && runs == runs_in(walk, box);
}

static Span row_of(const DataTable *table, uint32_t row)
{
    uint32_t end = row + 1 < table->rows.count ? table->rows.at[row + 1] : table->cells.count;
    return (Span){table->rows.at[row], end};
}

DataTable *data_table(const KeptBlocks *kept, uint32_t box)
{
    DataTable *table = arena_calloc(&kept->page->arena, 1, sizeof *table);
    if (!read_table(kept->page, box, table))
        return NULL;
    uint32_t most_full = 0, full_rows = 0;
    uint64_t width = 0;
    for (uint32_t row = 0; row < table->rows.count; row++) {
        uint32_t full = 0;
        uint64_t columns = 0;
        Span cells = row_of(table, row);
        for (uint32_t n = cells.first; n < cells.end; n++) {
            full += count_kept_in(kept, table->cells.at[n].box) > 0;
            columns += table->cells.at[n].columns;
        }
        most_full = full > most_full ? full : most_full;
        full_rows += full > 0;
        width = columns > width ? columns : width;
    }
    bool is_small = width <= TABLES_MAX_COLUMNS && table->rows.count <= TABLES_MAX_ROWS;
    return most_full >= 2 && full_rows >= 2 && is_small ? table : NULL;
}

/* A table while it is written: the texts of its rows in sequence, those of empty cells included. */
typedef struct {
    Arena *arena;
    Buffer texts;
    Numbers text_ends;      /* of each cell, in `texts` */
    Numbers row_ends;       /* of each row that is not blank, in cells */
    uint32_t width;
    bool is_headed;
    uint32_t below[TABLES_MAX_COLUMNS];    /* for how many rows a cell still spans */
} Grid;

static void add_text(Grid *grid, Text text)
{
    const uint8_t *bar;
    while (text.size && (bar = memchr(text.at, '|', text.size)) != NULL) {
        uint32_t size = (uint32_t)(bar - text.at);
        put(&grid->texts, text.at, size);
        put_literal(&grid->texts, "\\|");
        text = (Text){bar + 1, text.size - size - 1};
    }
    put_text(&grid->texts, text);
    ADD(grid->arena, grid->text_ends, grid->texts.count);
}

/* Add an empty cell wherever a cell spans from above; returns the column after them. */
static uint32_t skip_reached(Grid *grid, uint32_t column)
{
    for (; column < TABLES_MAX_COLUMNS && grid->below[column] > 0; column++)
        add_text(grid, (Text){NULL, 0});
    return column;
}

static void add_row(Grid *grid, const DataTable *table, uint32_t row, MarkdownWriter *writer)
{
    Span cells = row_of(table, row);
    uint32_t column = 0, cells_before = grid->text_ends.count, bytes_before = grid->texts.count;
    bool is_headed = true;
    for (uint32_t n = cells.first; n < cells.end; n++) {
        const Cell *cell = &table->cells.at[n];
        column = skip_reached(grid, column);
        is_headed = is_headed && cell->is_head;
        add_text(grid, cell_text(writer, cell->box, cell->is_head));
        for (uint32_t more = 1; more < cell->columns; more++)
            add_text(grid, (Text){NULL, 0});
        /* Limited, because staggered row spans would make every row wider than the one before. */
        for (uint32_t at = column; cell->rows > 1 && at < column + cell->columns && at < TABLES_MAX_COLUMNS; at++)
            grid->below[at] = cell->rows;
        column += cell->columns;
    }
    column = skip_reached(grid, column);
    for (uint32_t at = 0; at < TABLES_MAX_COLUMNS; at++)
        grid->below[at] -= grid->below[at] > 0;
    if (grid->texts.count == bytes_before) {
        grid->text_ends.count = cells_before;
        return;
    }
    if (grid->row_ends.count == 0)
        grid->is_headed = table->has_thead || is_headed;
    ADD(grid->arena, grid->row_ends, grid->text_ends.count);
    grid->width = column > grid->width ? column : grid->width;
}

/* A row of equal cells. */
static void put_same(Buffer *buffer, const char *cell_index, uint32_t width)
{
    put_literal(buffer, "|");
    for (uint32_t column = 0; column < width; column++)
        put_literal(buffer, cell_index);
    put_char(buffer, '\n');
}

static void put_row(Buffer *buffer, const Grid *grid, uint32_t row)
{
    uint32_t cell_index = row ? grid->row_ends.at[row - 1] : 0, end = grid->row_ends.at[row];
    uint32_t from = cell_index ? grid->text_ends.at[cell_index - 1] : 0;
    put_char(buffer, '|');
    for (uint32_t column = 0; column < grid->width; column++) {
        put_char(buffer, ' ');
        if (cell_index < end) {
            put(buffer, grid->texts.at + from, grid->text_ends.at[cell_index] - from);
            from = grid->text_ends.at[cell_index++];
        }
        put_literal(buffer, " |");
    }
}

/* As GFM; nothing if it is blank. */
void put_table(Buffer *buffer, const DataTable *table, MarkdownWriter *writer)
{
    Grid grid = {.arena = buffer->arena, .texts = {.arena = buffer->arena}};
    for (uint32_t row = 0; row < table->rows.count; row++)
        add_row(&grid, table, row, writer);
    if (grid.row_ends.count == 0)
        return;
    if (!grid.is_headed) {
        put_same(buffer, "  |", grid.width);
        put_same(buffer, " --- |", grid.width);
    }
    for (uint32_t row = 0; row < grid.row_ends.count; row++) {
        if (row)
            put_char(buffer, '\n');
        put_row(buffer, &grid, row);
        if (row == 0 && grid.is_headed) {
            put_char(buffer, '\n');
            put_same(buffer, " --- |", grid.width);
            buffer->count--;
        }
    }
}
