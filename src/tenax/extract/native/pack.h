/* Answers as msgpack, which Python decodes. */
#ifndef TENAX_PACK_H
#define TENAX_PACK_H

#include "dom.h"

typedef struct {
    Arena *arena;
    uint8_t *at;
    size_t size;
    size_t capacity;
} Pack;

Pack pack_begin(Arena *arena, size_t capacity);
void pack_array(Pack *pack, uint32_t count);
void pack_map(Pack *pack, uint32_t count);
void pack_nil(Pack *pack);
void pack_bool(Pack *pack, bool value);
void pack_int(Pack *pack, int64_t value);
void pack_real(Pack *pack, double value);
void pack_text(Pack *pack, Text text);      /* a str; nil where `at` is NULL */
void pack_literal(Pack *pack, const char *text);
void pack_bytes(Pack *pack, Text bytes);    /* bin */

/* A text written in pieces: `pack_text_room` reserves at most `most` bytes and returns their address,
 * `pack_text_end` takes the number written. */
uint8_t *pack_text_room(Pack *pack, size_t most);
void pack_text_end(Pack *pack, size_t written);

#endif
