/* See pack.h. */
#include "pack.h"

#define TEXT_HEADER 5 /* 0xdb and a length of four bytes */

Pack pack_begin(Arena *arena, size_t capacity)
{
    return (Pack){arena, arena_alloc(arena, capacity), 0, capacity};
}

static uint8_t *room_for(Pack *pack, size_t size)
{
    if (size > pack->capacity - pack->size) {
        if (size > SIZE_MAX / 4)
            page_fail(pack->arena, "answer too long");
        size_t wanted = (pack->size + size) * 2;
        pack->at = grow_memory(pack->arena, pack->at, pack->size, pack->capacity, wanted);
        pack->capacity = wanted;
    }
    return pack->at + pack->size;
}

static void put_be32(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static void put_be64(uint8_t *at, uint64_t value)
{
    put_be32(at, (uint32_t)(value >> 32));
    put_be32(at + 4, (uint32_t)value);
}

static void put_byte(Pack *pack, uint8_t byte)
{
    *room_for(pack, 1) = byte;
    pack->size++;
}

static void put_counted(Pack *pack, uint8_t kind, uint32_t count)
{
    uint8_t *at = room_for(pack, 5);
    at[0] = kind;
    put_be32(at + 1, count);
    pack->size += 5;
}

void pack_array(Pack *pack, uint32_t count)
{
    if (count < 16)
        put_byte(pack, (uint8_t)(0x90 | count));
    else
        put_counted(pack, 0xdd, count);
}

void pack_map(Pack *pack, uint32_t count)
{
    if (count < 16)
        put_byte(pack, (uint8_t)(0x80 | count));
    else
        put_counted(pack, 0xdf, count);
}

void pack_nil(Pack *pack) { put_byte(pack, 0xc0); }

void pack_bool(Pack *pack, bool value) { put_byte(pack, value ? 0xc3 : 0xc2); }

void pack_int(Pack *pack, int64_t value)
{
    if (value >= 0 && value < 128) {
        put_byte(pack, (uint8_t)value);
        return;
    }
    uint8_t *at = room_for(pack, 9);
    at[0] = 0xd3;
    put_be64(at + 1, (uint64_t)value);
    pack->size += 9;
}

void pack_real(Pack *pack, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t *at = room_for(pack, 9);
    at[0] = 0xcb;
    put_be64(at + 1, bits);
    pack->size += 9;
}

static void put_bytes(Pack *pack, const uint8_t *bytes, uint32_t size)
{
    if (size == 0)
        return;
    memcpy(room_for(pack, size), bytes, size);
    pack->size += size;
}

void pack_text(Pack *pack, Text text)
{
    if (text.at == NULL) {
        pack_nil(pack);
        return;
    }
    if (text.size < 32)
        put_byte(pack, (uint8_t)(0xa0 | text.size));
    else
        put_counted(pack, 0xdb, text.size);
    put_bytes(pack, text.at, text.size);
}

void pack_literal(Pack *pack, const char *text)
{
    pack_text(pack, (Text){(const uint8_t *)text, (uint32_t)strlen(text)});
}

void pack_bytes(Pack *pack, Text bytes)
{
    put_counted(pack, 0xc6, bytes.size);
    put_bytes(pack, bytes.at, bytes.size);
}

uint8_t *pack_text_room(Pack *pack, size_t most)
{
    if (most > UINT32_MAX)
        page_fail(pack->arena, "answer too long");
    return room_for(pack, most + TEXT_HEADER) + TEXT_HEADER;
}

void pack_text_end(Pack *pack, size_t written)
{
    uint8_t *at = pack->at + pack->size;
    at[0] = 0xdb;
    put_be32(at + 1, (uint32_t)written);
    pack->size += TEXT_HEADER + written;
}
