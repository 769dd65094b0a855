/* Words in attribute values: for links, and for the head of a page. */
#ifndef TENAX_LINKS_H
#define TENAX_LINKS_H

#include "page.h"

/* Whether a text has this word, which is ASCII and lower case: `word in text.lower().split()`. The word must not
 * contain `k`, the lower case of the Kelvin sign; no other character becomes plain ASCII. */
bool has_word(Text text, const char *word);

/* Whether a text contains this, ignoring case: `part in text.lower()`. The same limits apply to `part`. */
bool contains_ignoring_case(Text text, const char *part);

#endif
