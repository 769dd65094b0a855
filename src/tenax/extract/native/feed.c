/* Feeds the parser piece by piece: the loop of html/parser.py with the same rules, while little is open.
 *
 * Python owns the limits, and checks the usage whenever this returns: at the end, when time has passed, and where a
 * limit is reached. With more formatting elements or attributes than can be counted quickly, Python continues.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <math.h>
#include <time.h>

#include "constants.h"
#include "lexbor.h"

#define MOST_WEIGHED 64
#define MOST_ATTRIBUTES 1000

/* Mirrors `Feed` in html/tree.py. */
typedef struct {
    unsigned (*process)(void *parser, const uint8_t *at, size_t size);
    void *parser;
    const uintptr_t *const *token;
    const size_t *attributes;
    const size_t *open_elements;
    const size_t *formatting;
    LexborNode *const *const *formatting_list;
    const LexborNode *marker;
    size_t first_attribute;
    size_t piece_bytes, small_piece_bytes, least_bytes, piece_steps, few_open, formatting_steps;
    size_t rebuilt_bytes, many_chunks, too_many_chunks, check_every_bytes, max_depth, max_attributes;
    size_t max_tree_bytes, chunk_bytes, token_attribute_bytes;
    const uint8_t *html;
    const size_t *chunks;
    size_t end, at, look_at;
    uintptr_t tag_before;
    size_t rebuilt_count;
    const LexborNode *rebuilt_last;
    size_t rebuilt_weight;
    uintptr_t checked_tag;
    size_t attributes_before;
    double quiet_seconds, quiet_until;
} Feed;

static size_t smaller(size_t one, size_t other) { return one < other ? one : other; }

/* Adds an element and its attributes; false if they are too many or too long to be measured here. */
static bool add_weight(const Feed *feed, LexborNode *element, size_t *weight)
{
    size_t count = 0, size = 0;
    for (LexborAttribute *one = lexbor.first_attribute(element); one != NULL; one = lexbor.next_attribute(one)) {
        size += lexbor_value(one).size;
        if (++count > MOST_ATTRIBUTES || size > feed->rebuilt_bytes)
            return false;
    }
    *weight += 1 + count;
    return *weight <= MOST_WEIGHED + MOST_ATTRIBUTES;
}

/* Measures what the next paragraph rebuilds: the elements after the last marker. False if Python must measure it. */
static bool weigh_rebuilt(Feed *feed)
{
    size_t count = *feed->formatting, weight = 0;
    if (count == 0)
        return true;
    LexborNode *const *list = *feed->formatting_list;
    const LexborNode *last = list[count - 1];
    if (count == feed->rebuilt_count && last == feed->rebuilt_last)
        return true;
    for (size_t n = count; n > 0 && list[n - 1] != feed->marker; n--)
        if (count - n >= MOST_WEIGHED || !add_weight(feed, list[n - 1], &weight))
            return false;
    feed->rebuilt_count = count;
    feed->rebuilt_last = last;
    feed->rebuilt_weight = weight;
    return true;
}

/* Identifies the current tag; 0 outside of tags. */
static uintptr_t tag_now(const Feed *feed)
{
    const uintptr_t *token = *feed->token;
    return token != NULL ? token[feed->first_attribute] : 0;
}

/* The size up to the end of the current tag, if that is within the piece. */
static size_t up_to_tag_end(const Feed *feed, size_t size)
{
    const uint8_t *at = feed->html + feed->at;
    size_t until = smaller(size, feed->end - feed->at);
    if (until <= feed->least_bytes)
        return size;
    const uint8_t *found = memchr(at + feed->least_bytes, '>', until - feed->least_bytes);
    return found != NULL ? (size_t)(found + 1 - at) : size;
}

static double monotonic_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : INFINITY;
}

/* Whether Python must check the usage: its time may be used up, or a limit is reached. */
static bool needs_check(Feed *feed)
{
    uintptr_t tag = tag_now(feed);
    size_t attributes = *feed->attributes;
    if (tag != feed->checked_tag) {
        feed->checked_tag = tag;
        feed->attributes_before = attributes;
    } else if (tag != 0 && attributes - feed->attributes_before > feed->max_attributes) {
        return true;
    }
    size_t memory = *feed->chunks * feed->chunk_bytes + attributes * feed->token_attribute_bytes;
    return *feed->open_elements > feed->max_depth || memory > feed->max_tree_bytes ||
           monotonic_seconds() >= feed->quiet_until;
}

/* isal, which compresses the links of the previous page, leaves the upper halves of the vector registers dirty. Until
 * they are cleared, SSE code is slow: extracting a page takes 8 us more. */
static void clear_upper_halves(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper");
#endif
}

int native_feed(Feed *feed)
{
    clear_upper_halves();
    if (feed->at == 0)
        feed->quiet_until = monotonic_seconds() + feed->quiet_seconds;
    while (feed->at < feed->end) {
        bool is_look_due = false;
        size_t size = feed->piece_bytes;
        if (*feed->formatting || *feed->open_elements > feed->few_open) {
            if (!weigh_rebuilt(feed))
                return TREE_HANDED_BACK;
            size_t rebuilt = *feed->formatting ? feed->rebuilt_weight : 0;
            size_t most = feed->piece_steps / (1 + *feed->open_elements + feed->formatting_steps * rebuilt);
            if (most < size) {
                size = most > feed->least_bytes ? most : feed->least_bytes;
                is_look_due = true;
            }
        }
        if (size > feed->small_piece_bytes && *feed->chunks > feed->many_chunks)
            size = feed->small_piece_bytes;
        uintptr_t tag = tag_now(feed);
        if (tag != 0 && tag == feed->tag_before)
            size = up_to_tag_end(feed, size);
        feed->tag_before = tag;
        size = smaller(size, feed->end - feed->at);
        if (feed->process(feed->parser, feed->html + feed->at, size) != 0)
            return TREE_FAILED;
        feed->at += size;
        if (is_look_due || feed->at >= feed->look_at || *feed->chunks > feed->too_many_chunks) {
            if (needs_check(feed))
                return TREE_FED;
            feed->look_at = feed->at + feed->check_every_bytes;
        }
    }
    return TREE_FED;
}
