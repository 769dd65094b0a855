/* See table.h. */
#include "table.h"

#include <stdio.h>
#include <time.h>

static struct {
    bool is_set;
    uint64_t begin, factor, end;
} seeds;

/* The product of two numbers, its upper half folded onto the lower. */
static uint64_t folded(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low, first = a_high * b_low + (low >> 32), second = a_low * b_high + (uint32_t)first;
    return ((second << 32) | (uint32_t)low) ^ (a_high * b_high + (first >> 32) + (second >> 32));
#endif
}

void table_seed(void)
{
    if (seeds.is_set)
        return;
    uint64_t drawn[3] = {0};
    FILE *source = fopen("/dev/urandom", "rb");
    if (source == NULL || fread(drawn, sizeof drawn, 1, source) != 1) {
        /* Without a system source of randomness: values that a page cannot know. */
        for (uint32_t at = 0; at < 3; at++)
            drawn[at] = folded((uint64_t)time(NULL) ^ (uintptr_t)drawn, (uint64_t)clock() * 2654435761u + at + 1);
    }
    if (source != NULL)
        fclose(source);
    seeds.begin = drawn[0];
    seeds.factor = drawn[1] | ((uint64_t)1 << 63) | 1;
    seeds.end = drawn[2];
    seeds.is_set = true;
}

static uint64_t eight_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static uint32_t four_at(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The last eight bytes of a key, or all of a shorter one. */
static uint64_t last_bytes(const uint8_t *at, uint32_t size)
{
    if (size >= 8)
        return eight_at(at + size - 8);
    if (size >= 4)
        return (uint64_t)four_at(at) << 32 | four_at(at + size - 4);
    return size == 0 ? 0 : (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1];
}

static uint64_t hash_of(Text key)
{
    uint64_t hash = seeds.begin ^ key.size;
    for (uint32_t at = 0; key.size - at > 8; at += 8)
        hash = folded(hash ^ eight_at(key.at + at), seeds.factor);
    return folded(hash ^ last_bytes(key.at, key.size) ^ seeds.end, seeds.factor);
}

Table make_table(Arena *arena, uint32_t capacity)
{
    uint32_t slots = 8;
    while (slots < (uint64_t)capacity * 2) {
        if (slots > UINT32_MAX / 4)
            page_fail(arena, "table too large");
        slots *= 2;
    }
    Entry *entries = arena_alloc(arena, (size_t)capacity * sizeof *entries);
    return (Table){arena_calloc(arena, slots, sizeof(uint32_t)), slots - 1, entries, 0, capacity};
}

/* The slot of a key, or the free slot for it: there is always one. */
static uint32_t *slot_of(const Table *table, Text key, uint64_t hash)
{
    for (uint32_t at = (uint32_t)hash & table->mask;; at = (at + 1) & table->mask) {
        uint32_t *slot = &table->slots[at];
        if (*slot == 0)
            return slot;
        const Entry *entry = &table->entries[*slot - 1];
        if (entry->hash == hash && entry->key.size == key.size && memcmp(entry->key.at, key.at, key.size) == 0)
            return slot;
    }
}

uint32_t add_key(Arena *arena, Table *table, Text key)
{
    uint64_t hash = hash_of(key);
    uint32_t *slot = slot_of(table, key, hash);
    if (*slot == 0) {
        if (table->count == table->capacity)
            page_fail(arena, "table is full");
        table->entries[table->count++] = (Entry){hash, key};
        *slot = table->count;
    }
    return *slot - 1;
}

uint32_t find_key(const Table *table, Text key)
{
    uint32_t number = *slot_of(table, key, hash_of(key));
    return number == 0 ? NO_KEY : number - 1;
}
