/* UTF-8 as bytes, one, eight or sixteen at a time. */
#ifndef TENAX_UTF8_H
#define TENAX_UTF8_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The result for invalid UTF-8. */
#define NO_CHARACTER 0xFFFDu

#define EACH_HIGH_BIT 0x8080808080808080u
#define EACH_LOW_BIT 0x0101010101010101u

static inline uint64_t eight_bytes(const uint8_t *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

/* Sixteen bytes as one vector: a true comparison sets all bits of a byte. */
#define AT_ONCE 16
typedef uint8_t Sixteen __attribute__((vector_size(AT_ONCE)));

static inline Sixteen sixteen_bytes(const uint8_t *at)
{
    Sixteen bytes;
    memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

static inline bool is_any(Sixteen found)
{
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* Whether a byte is not the first of its character. */
static inline bool is_tail(uint8_t byte) { return (byte & 0xC0) == 0x80; }

#endif
