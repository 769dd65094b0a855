/* See memory.h. */
#define _GNU_SOURCE /* mremap */
#include "memory.h"

#include <stdlib.h>

#if defined(__linux__) && !defined(TENAX_CHECKED)
#define HAS_MAPPINGS
#include <sys/mman.h>
#endif

#ifdef TENAX_CHECKED
#define CHUNK_BYTES ((size_t)1)
#define KEPT_BYTES ((size_t)0)
#define LARGE_BYTES ((size_t)1 << 10)
#else
#define CHUNK_BYTES ((size_t)1 << 20)
#define KEPT_BYTES ((size_t)16 << 20)   /* of chunks, from page to page */
#define LARGE_BYTES ((size_t)1 << 19)   /* of a list, few pages have one */
#endif
#define MAX_BYTES ((size_t)1 << 30)    /* of one page */

struct Chunk {
    Chunk *next;
    size_t size;
    _Alignas(16) uint8_t bytes[];
};

struct Large {
    Large *next;
    size_t size;
    _Alignas(16) uint8_t bytes[];
};

_Noreturn void page_fail(Arena *arena, const char *error)
{
    arena->error = error;
    longjmp(arena->broken, 1);
}

static void enter(Arena *arena, Chunk *chunk)
{
    arena->current = chunk;
    arena->at = chunk->bytes;
    arena->end = chunk->bytes + chunk->size;
}

void *arena_refill(Arena *arena, size_t size)
{
    if (size > MAX_BYTES || arena->taken > MAX_BYTES - size)
        page_fail(arena, "the page takes too much memory");
    Chunk *next = arena->current ? arena->current->next : arena->first;
    if (next == NULL || next->size < size) {
        size_t wanted = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        Chunk *made = malloc(sizeof *made + wanted);
        if (made == NULL)
            page_fail(arena, "out of memory");
        made->size = wanted;
        made->next = next;
        if (arena->current)
            arena->current->next = made;
        else
            arena->first = made;
        next = made;
    }
    arena->taken += next->size;
    enter(arena, next);
    arena->at += size;
    return next->bytes;
}

/* A long list gets a mapping of its own, because `realloc` would copy it where `malloc` has memory left: then the old
 * memory stays with the process. Takes NULL for a new one. */
static Large *resize_large(Large *large, size_t size)
{
    size_t wanted = sizeof *large + size;
#ifdef HAS_MAPPINGS
    void *made = large == NULL
                     ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : mremap(large, sizeof *large + large->size, wanted, MREMAP_MAYMOVE);
    large = made != MAP_FAILED ? made : NULL;
#else
    large = realloc(large, wanted);
#endif
    if (large != NULL)
        large->size = size;
    return large;
}

static void free_large(Arena *arena)
{
    while (arena->large != NULL) {
        Large *large = arena->large;
        arena->large = large->next;
#ifdef HAS_MAPPINGS
        munmap(large, sizeof *large + large->size);
#else
        free(large);
#endif
    }
}

/* Before the next page: keeps chunks, but no more than one ordinary page needs. */
void arena_reset(Arena *arena)
{
    size_t kept = 0;
    Chunk **link = &arena->first;
    free_large(arena);
    while (*link != NULL) {
        Chunk *chunk = *link;
        if (kept + chunk->size > KEPT_BYTES) {
            *link = chunk->next;
            free(chunk);
        } else {
            kept += chunk->size;
            link = &chunk->next;
        }
    }
    arena->taken = 0;
    arena->error = NULL;
    arena->current = NULL;
    arena->at = arena->end = NULL;
    if (arena->first != NULL) {
        arena->taken = arena->first->size;
        enter(arena, arena->first);
    }
}

void arena_free(Arena *arena)
{
    free_large(arena);
    while (arena->first != NULL) {
        Chunk *chunk = arena->first;
        arena->first = chunk->next;
        free(chunk);
    }
    arena->current = NULL;
    arena->at = arena->end = NULL;
}

/* Grows a long list: the one at `at`, or a new one with its content. */
static void *grow_large(Arena *arena, void *at, size_t used, size_t old, size_t wanted)
{
    if (wanted > MAX_BYTES || arena->taken > MAX_BYTES - wanted)
        page_fail(arena, "the page takes too much memory");
    Large **link = &arena->large;
    while (*link != NULL && (*link)->bytes != (uint8_t *)at)
        link = &(*link)->next;
    bool is_large = *link != NULL;
    Large *made = resize_large(*link, wanted);
    if (made == NULL)
        page_fail(arena, "out of memory");
    if (!is_large) {
        made->next = NULL;
        if (used)
            memcpy(made->bytes, at, used);
    }
    arena->taken += is_large ? wanted - old : wanted;
    *link = made;
    return made->bytes;
}

void *grow_memory(Arena *arena, void *at, size_t used, size_t old, size_t wanted)
{
    if (wanted >= LARGE_BYTES)
        return grow_large(arena, at, used, old, wanted);
    void *made = arena_alloc(arena, wanted);
    if (used)
        memcpy(made, at, used);
    return made;
}

void *grow_list(Arena *arena, void *at, uint32_t count, uint32_t *capacity, size_t size)
{
    if (*capacity > UINT32_MAX / 4)
        page_fail(arena, "list too long");
    uint32_t wanted = *capacity ? *capacity * 2 : 16;
    uint8_t *bytes = at;
    /* The last allocation grows in place. */
    size_t old = ((size_t)*capacity * size + 15) & ~(size_t)15, new = ((size_t)wanted * size + 15) & ~(size_t)15;
    bool is_last = bytes != NULL && bytes + old == arena->at;
    if (is_last && new < LARGE_BYTES && CHUNK_BYTES > 1 && new - old <= (size_t)(arena->end - arena->at)) {
        arena->at += new - old;
        *capacity = wanted;
        return at;
    }
    void *made = grow_memory(arena, at, (size_t)count * size, (size_t)*capacity * size, (size_t)wanted * size);
    *capacity = wanted;
    return made;
}
