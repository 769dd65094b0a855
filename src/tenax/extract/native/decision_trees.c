/* Learned tables, and the page kind by them: `article.decision_trees` and `article.page_type`. See decision_trees.h.
 *
 * A tree is not walked from node to node: its branches are hard to predict, and a misprediction costs more than a
 * dozen comparisons. Instead all nodes of a tree are evaluated. A value above the threshold of a node excludes the
 * leaves below its low branch; the first remaining leaf is where the walk would have ended. Leaves are bits, and
 * what the page's own values exclude is computed once for all its rows. */
#include "decision_trees.h"

#include "table.h"

#include <stdlib.h>

#define MAX_LEAVES 64      /* of a tree: bits of a number */
#define MAX_KINDS 16
#define MAX_EXITS 64
#define LANES 8             /* rows side by side */
#define TREES_AT_ONCE 16    /* this many, and a group of rows, stay in the cache */

typedef struct {
    double threshold;
    uint64_t above;         /* the leaves that remain for a value above it: all but those of the low branch */
    uint32_t feature;
} Test;

typedef struct {
    uint32_t tests, shared_tests, end;  /* where its tests begin, those on shared values, and where they end */
    uint32_t leaves;                    /* where its results begin */
} Tree;

typedef struct {
    double after, sure, scale;
} Exit;

typedef struct {
    Tree *trees;
    Test *tests;
    double *answers;
    uint32_t count, exit_count;
    Exit exits[MAX_EXITS];
} Forest;

static struct {
    bool is_set;
    uint32_t article, forum, kind_count;
    Forest kinds[MAX_KINDS];
    Forest of_articles, of_others;
} learned;

typedef struct {
    const uint8_t *at;
    size_t left;
} Data;

/* The next `count` items; NULL if there are fewer. */
static const uint8_t *next_items(Data *data, size_t count, size_t size)
{
    if (count > data->left / size)
        return NULL;
    const uint8_t *found = data->at;
    data->at += count * size;
    data->left -= count * size;
    return found;
}

/* The nodes of a table, in preorder: see packed_tables.py. */
typedef struct {
    const uint8_t *signs, *values;
    uint32_t sign_at, sign_count, value_at, value_count;
} Source;

static bool next_sign(Source *from, uint16_t *sign)
{
    if (from->sign_at == from->sign_count)
        return false;
    memcpy(sign, from->signs + from->sign_at++ * sizeof *sign, sizeof *sign);
    return true;
}

static bool next_node(Source *from, uint16_t *feature, double *value)
{
    uint16_t sign;
    if (!next_sign(from, feature) || from->value_at == from->value_count)
        return false;
    if (*feature != PACKED_TABLES_VALUE_SIGN && (!next_sign(from, &sign) || sign != PACKED_TABLES_VALUE_SIGN))
        return false;
    memcpy(value, from->values + from->value_at++ * sizeof *value, sizeof *value);
    return true;
}

static uint64_t bits_between(uint32_t first, uint32_t end)
{
    return (((uint64_t)1 << (end - first)) - 1) << first;
}

/* A tree while it is parsed. */
typedef struct {
    Test tests[MAX_LEAVES];
    double answers[MAX_LEAVES];
    uint32_t firsts[MAX_LEAVES];       /* of each test, the first leaf below it */
    uint32_t waiting[MAX_LEAVES];      /* the tests around the next node */
    uint32_t test_count, leaves, depth;
} Draft;

static void add_leaf(Draft *draft, double answer)
{
    draft->answers[draft->leaves++] = answer;
    /* It ends the high branches it is the last leaf of, and then a low one. */
    while (draft->depth > 0 && draft->tests[draft->waiting[draft->depth - 1]].above != UINT64_MAX)
        draft->depth--;
    if (draft->depth > 0) {
        uint32_t test = draft->waiting[draft->depth - 1];
        draft->tests[test].above = ~bits_between(draft->firsts[test], draft->leaves);
    }
}

static bool read_draft(Source *from, Draft *draft, uint32_t numbers)
{
    uint16_t feature;
    double value;
    draft->test_count = draft->leaves = draft->depth = 0;
    do {
        if (!next_node(from, &feature, &value))
            return false;
        if (feature == PACKED_TABLES_VALUE_SIGN) {
            add_leaf(draft, value);
            continue;
        }
        if (feature >= numbers || draft->test_count == MAX_LEAVES - 1)
            return false;
        draft->tests[draft->test_count] = (Test){value, UINT64_MAX, feature};
        draft->firsts[draft->test_count] = draft->leaves;
        draft->waiting[draft->depth++] = draft->test_count++;
    } while (draft->depth > 0);
    return true;
}

/* Reads the declared number of trees. Features from `shared` on are those that all rows share. */
static bool read_trees(Source *from, Forest *forest, uint32_t numbers, uint32_t shared)
{
    uint32_t tests = 0, leaves = 0;
    for (uint32_t number = 0; number < forest->count; number++) {
        Draft draft;
        if (!read_draft(from, &draft, numbers))
            return false;
        Tree *tree = &forest->trees[number];
        tree->leaves = leaves;
        memcpy(forest->answers + leaves, draft.answers, draft.leaves * sizeof *draft.answers);
        leaves += draft.leaves;
        tree->tests = tests;
        for (uint32_t at = 0; at < draft.test_count; at++)
            if (draft.tests[at].feature < shared)
                forest->tests[tests++] = draft.tests[at];
        tree->shared_tests = tests;
        for (uint32_t at = 0; at < draft.test_count; at++)
            if (draft.tests[at].feature >= shared) {
                forest->tests[tests] = draft.tests[at];
                forest->tests[tests++].feature -= shared;
            }
        tree->end = tests;
    }
    return from->sign_at == from->sign_count && from->value_at == from->value_count;
}

static bool read_exits(Data *data, Forest *forest)
{
    const uint8_t *exits = next_items(data, forest->exit_count, sizeof(Exit));
    if (exits == NULL)
        return false;
    memcpy(forest->exits, exits, forest->exit_count * sizeof(Exit));
    double last = 0;
    for (const Exit *exit = forest->exits; exit < forest->exits + forest->exit_count; exit++) {
        if (!(exit->after > last && exit->after <= forest->count) || exit->after != (uint32_t)exit->after)
            return false;
        last = exit->after;
    }
    return true;
}

static bool read_forest(Data *data, Forest *forest, uint32_t numbers, uint32_t shared)
{
    uint32_t counts[4];     /* of trees, signs, values and exits */
    const uint8_t *head = next_items(data, 4, sizeof *counts);
    if (head == NULL)
        return false;
    memcpy(counts, head, sizeof counts);
    Source nodes = {.sign_count = counts[1], .value_count = counts[2]};
    nodes.signs = next_items(data, nodes.sign_count, sizeof(uint16_t));
    nodes.values = next_items(data, nodes.value_count, sizeof(double));
    if (nodes.signs == NULL || nodes.values == NULL || counts[0] > nodes.value_count || counts[3] > MAX_EXITS)
        return false;
    forest->count = counts[0];
    forest->exit_count = counts[3];
    forest->trees = calloc((size_t)forest->count + 1, sizeof *forest->trees);
    forest->tests = calloc((size_t)nodes.value_count + 1, sizeof *forest->tests);
    forest->answers = calloc((size_t)nodes.value_count + 1, sizeof *forest->answers);
    if (forest->trees == NULL || forest->tests == NULL || forest->answers == NULL)
        return false;
    return read_trees(&nodes, forest, numbers, shared) && read_exits(data, forest);
}

static bool read_tables(Data *data)
{
    uint32_t head[3];
    const uint8_t *at = next_items(data, 3, sizeof *head);
    if (at == NULL)
        return false;
    memcpy(head, at, sizeof head);
    learned.article = head[0];
    learned.forum = head[1];
    learned.kind_count = head[2];
    if (learned.kind_count == 0 || learned.kind_count > MAX_KINDS)
        return false;
    for (uint32_t kind = 0; kind < learned.kind_count; kind++)
        if (!read_forest(data, &learned.kinds[kind], KIND_FEATURE_COUNT, 0))
            return false;
    uint32_t numbers = ROW_NUMBERS + PAGE_FEATURE_COUNT;
    return read_forest(data, &learned.of_articles, numbers, ROW_NUMBERS)
           && read_forest(data, &learned.of_others, numbers, ROW_NUMBERS);
}

void native_set_decision_trees(const uint8_t *data, size_t size)
{
    if (learned.is_set)
        return;
    table_seed();
    learned.is_set = read_tables(&(Data){data, size});
}

bool is_article_kind(const Page *page) { return page->kind >= 0 && (uint32_t)page->kind == learned.article; }

bool is_forum_kind(const Page *page) { return page->kind >= 0 && (uint32_t)page->kind == learned.forum; }

/* The leaves of a tree that the shared values do not exclude. */
static inline uint64_t left_by_shared(const Forest *forest, const Tree *tree, const double *shared)
{
    uint64_t left = UINT64_MAX;
    for (const Test *test = forest->tests + tree->shared_tests; test < forest->tests + tree->end; test++)
        left &= -(uint64_t)(shared[test->feature] <= test->threshold) | test->above;
    return left;
}

void read_kind(Page *page)
{
    if (!learned.is_set)
        page_fail(&page->arena, "no tables");
    page->kind = KIND_NONE;
    if (page->layout.numbers[PAGE_FEATURE_page_blocks] == 0)
        return;
    double numbers[KIND_FEATURE_COUNT], best = 0;
    memcpy(numbers, page->layout.numbers, sizeof page->layout.numbers);
    memcpy(numbers + PAGE_FEATURE_COUNT, page->hints.address, sizeof page->hints.address);
    for (uint32_t kind = 0; kind < learned.kind_count; kind++) {
        const Forest *forest = &learned.kinds[kind];
        double sum = 0;
        for (const Tree *tree = forest->trees; tree < forest->trees + forest->count; tree++)
            sum += forest->answers[tree->leaves + (uint32_t)__builtin_ctzll(left_by_shared(forest, tree, numbers))];
        if (kind == 0 || sum > best) {
            best = sum;
            page->kind = (int32_t)kind;
        }
    }
}

Rows rows_for(Arena *arena, uint32_t capacity)
{
    size_t groups = ((size_t)capacity + LANES - 1) / LANES;
    return (Rows){arena_alloc(arena, groups * LANES * ROW_NUMBERS * sizeof(double)), 0, capacity};
}

/* The first value of a row; each further one is LANES later. */
static inline double *row_at(const Rows *rows, uint32_t row)
{
    return rows->numbers + (size_t)(row / LANES) * LANES * ROW_NUMBERS + row % LANES;
}

void add_row(Arena *arena, Rows *rows, const double numbers[ROW_NUMBERS])
{
    double *row = row_at(rows, check_index(arena, rows->count, rows->capacity));
    /* The last rows are processed as a group too. */
    if (rows->count % LANES == 0)
        memset(row, 0, sizeof *row * LANES * ROW_NUMBERS);
    for (uint32_t at = 0; at < ROW_NUMBERS; at++)
        row[at * LANES] = numbers[at];
    rows->count++;
}

/* Some trees, the remaining leaves of each, and a group of rows. */
typedef struct {
    const Forest *forest;
    uint32_t from, stop;
    uint64_t left[TREES_AT_ONCE];
} Trees;

/* Adds the results of the trees for the first `WIDTH * COUNT` rows of a group, with vectors of WIDTH. COUNT is known
 * at compile time, so the leaf sets stay in registers. */
typedef void AddResults(const Trees *trees, const double *group, double *sums);
#define DEFINE_ADD_RESULTS(NAME, WIDTH, COUNT)                                                                        \
    static void NAME(const Trees *trees, const double *group, double *sums)                                           \
    {                                                                                                                 \
        typedef double Several __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));                        \
        typedef int64_t Sets __attribute__((vector_size(8 * WIDTH)));                                                 \
        const Forest *forest = trees->forest;                                                                         \
        for (uint32_t number = trees->from; number < trees->stop; number++) {                                         \
            const Tree *tree = &forest->trees[number];                                                                \
            Sets sets[COUNT];                                                                                         \
            for (uint32_t n = 0; n < COUNT; n++)                                                                      \
                sets[n] = (Sets){0} + (int64_t)trees->left[number - trees->from];                                     \
            for (const Test *test = forest->tests + tree->tests; test < forest->tests + tree->shared_tests; test++) { \
                const Several *numbers = (const Several *)(group + (size_t)test->feature * LANES);                    \
                for (uint32_t n = 0; n < COUNT; n++)                                                                  \
                    sets[n] &= (Sets)(numbers[n] <= test->threshold) | (int64_t)test->above;                          \
            }                                                                                                         \
            const double *answers = forest->answers + tree->leaves;                                                   \
            for (uint32_t lane = 0; lane < WIDTH * COUNT; lane++)                                                     \
                sums[lane] += answers[__builtin_ctzll((uint64_t)sets[lane / WIDTH][lane % WIDTH])];                   \
        }                                                                                                             \
    }

DEFINE_ADD_RESULTS(add_pair, 2, 1)
DEFINE_ADD_RESULTS(add_group_by_pairs, 2, LANES / 2)

static AddResults *add_group = add_group_by_pairs;
#ifdef __x86_64__
__attribute__((target("avx2"))) DEFINE_ADD_RESULTS(add_group_by_fours, 4, LANES / 4)

/* Not all processors of this architecture compare four at once. */
__attribute__((constructor)) static void choose_add_group(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        add_group = add_group_by_fours;
}
#endif

/* Adds the results of some trees to the sums of all rows. */
static void add_trees(const Forest *forest, uint32_t from, uint32_t stop, const double *shared, const Rows *rows,
                      double *sums)
{
    Trees trees = {.forest = forest, .from = from, .stop = stop};
    for (uint32_t tree = from; tree < stop; tree++)
        trees.left[tree - from] = left_by_shared(forest, &forest->trees[tree], shared);
    for (uint32_t row = 0; row < rows->count;) {
        /* Of the last group only the existing rows are processed. */
        bool is_pair = rows->count - row <= LANES / 2;
        (is_pair ? add_pair : add_group)(&trees, row_at(rows, row), sums + row);
        row += is_pair ? 2 : LANES;
    }
}

/* The rows that are still summed: as many as in Rows, each with its sum so far. */
typedef struct {
    double *sums;
    uint32_t *indexes;       /* the final index of each row */
} PendingRows;

/* Removes the rows whose sums need no refinement; the last rows take their places. */
static void remove_certain(const Exit *exit, Rows *rows, PendingRows *pending, double *found)
{
    for (uint32_t row = 0; row < rows->count;) {
        double sum = pending->sums[row];
        if (-exit->sure < sum && sum < exit->sure) {
            row++;
            continue;
        }
        found[pending->indexes[row]] = sum * exit->scale;
        uint32_t last = --rows->count;
        pending->sums[row] = pending->sums[last];
        pending->indexes[row] = pending->indexes[last];
        double *into = row_at(rows, row), *from = row_at(rows, last);
        for (uint32_t at = 0; at < ROW_NUMBERS && row < last; at++)
            into[at * LANES] = from[at * LANES];
    }
}

const double *row_sums(Page *page, Rows *rows, bool is_article)
{
    if (!learned.is_set)
        page_fail(&page->arena, "no tables");
    const Forest *forest = is_article ? &learned.of_articles : &learned.of_others;
    const Exit *exit = forest->exits, *no_exit = forest->exits + forest->exit_count;
    size_t count = (size_t)rows->count + LANES;     /* sums are added for a whole group */
    double *found = arena_alloc(&page->arena, count * sizeof *found);
    PendingRows pending = {arena_calloc(&page->arena, count, sizeof(double)),
                     arena_alloc(&page->arena, count * sizeof(uint32_t))};
    for (uint32_t row = 0; row < rows->count; row++)
        pending.indexes[row] = row;
    for (uint32_t tree = 0, stop; tree < forest->count && rows->count > 0; tree = stop) {
        stop = forest->count - tree > TREES_AT_ONCE ? tree + TREES_AT_ONCE : forest->count;
        if (exit < no_exit && exit->after < stop)
            stop = (uint32_t)exit->after;
        add_trees(forest, tree, stop, page->layout.numbers, rows, pending.sums);
        if (exit < no_exit && exit->after == stop)
            remove_certain(exit++, rows, &pending, found);
    }
    for (uint32_t row = 0; row < rows->count; row++)
        found[pending.indexes[row]] = pending.sums[row];
    return found;
}
