/* Memory of one page: allocated piece by piece, freed all at once. Lists with bounds checks.
 *
 * Pages are untrusted input. Any failure here (no memory, an index out of bounds) ends the reading of this page by
 * `page_fail`; Python then reads it instead. Nothing is ever written past the end of a list. */
#ifndef TENAX_MEMORY_H
#define TENAX_MEMORY_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Chunk Chunk;
typedef struct Large Large;

typedef struct {
    Chunk *first;   /* kept from page to page */
    Large *large;   /* long lists, each allocated separately: growing one frees the old memory */
    Chunk *current;
    uint8_t *at;
    uint8_t *end;
    size_t taken;   /* bytes of this page, to limit it */
    jmp_buf broken;
    const char *error;
} Arena;

/* Ends the reading of a page. */
_Noreturn void page_fail(Arena *arena, const char *error);

void *arena_refill(Arena *arena, size_t size);
void arena_reset(Arena *arena);
void arena_free(Arena *arena);

/* Memory for this page, aligned for anything, not cleared. */
static inline void *arena_alloc(Arena *arena, size_t size)
{
#ifdef TENAX_CHECKED /* each piece allocated separately, so that a sanitizer sees its bounds */
    return arena_refill(arena, size);
#endif
    size = (size + !size + 15) & ~(size_t)15;
    if (size > (size_t)(arena->end - arena->at))
        return arena_refill(arena, size);
    void *found = arena->at;
    arena->at += size;
    return found;
}

static inline void *arena_calloc(Arena *arena, size_t count, size_t size)
{
    if (count > SIZE_MAX / 2 / (size ? size : 1))
        page_fail(arena, "too large");
    return memset(arena_alloc(arena, count * size), 0, count * size);
}

/* A list that grows. `LIST(int) numbers = {0};` `ADD(arena, numbers, 7);` `AT(arena, numbers, 0)` */
#define LIST(T) struct { T *at; uint32_t count, capacity; }

/* More memory with the used bytes of `at` copied; `at` is no longer valid. */
void *grow_memory(Arena *arena, void *at, size_t used, size_t old, size_t wanted);

void *grow_list(Arena *arena, void *at, uint32_t count, uint32_t *capacity, size_t size);

#define ADD(arena, list, value)                                                                                      \
    do {                                                                                                             \
        if ((list).count == (list).capacity)                                                                         \
            (list).at = grow_list((arena), (list).at, (list).count, &(list).capacity, sizeof *(list).at);            \
        (list).at[(list).count++] = (value);                                                                         \
    } while (0)

/* An item, to read or write; an index out of bounds ends the reading of the page. */
#define AT(arena, list, place) ((list).at[check_index((arena), (place), (list).count)])

static inline uint32_t check_index(Arena *arena, uint32_t place, uint32_t count)
{
    if (__builtin_expect(place >= count, 0))
        page_fail(arena, "index out of bounds");
    return place;
}

/* A list of a known length, all zero. */
#define FILL(arena, list, length)                                                                                    \
    do {                                                                                                             \
        (list).count = (list).capacity = (length);                                                                   \
        (list).at = arena_calloc((arena), (list).count, sizeof *(list).at);                                          \
    } while (0)

typedef LIST(uint32_t) Numbers;
typedef LIST(int32_t) Signed;
typedef LIST(double) Reals;
typedef LIST(uint8_t) Bytes;

#endif
