/* Numbers for keys, in the order in which the keys are added.
 *
 * Pages choose the keys. The hash has random seeds of this process, so that no page can choose keys that collide. */
#ifndef TENAX_TABLE_H
#define TENAX_TABLE_H

#include "dom.h"

#define NO_KEY UINT32_MAX

typedef struct {
    uint64_t hash;
    Text key;
} Entry;

typedef struct {
    uint32_t *slots;        /* each the number of a key, from 1; 0 where it is free. At least twice as many as keys */
    uint32_t mask;
    Entry *entries;
    uint32_t count, capacity;
} Table;

/* Seeds the hash of this process. Call before the first page; a second call does nothing. */
void table_seed(void);

/* A table for at most `capacity` keys. */
Table make_table(Arena *arena, uint32_t capacity);

/* The number of a key, from 0; a new key gets the next. The table keeps no copy of it. */
uint32_t add_key(Arena *arena, Table *table, Text key);

/* The same for a key that may be missing: NO_KEY. */
uint32_t find_key(const Table *table, Text key);

#endif
