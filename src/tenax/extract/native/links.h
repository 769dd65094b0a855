/* What attributes say, as the words in them: for links, and for the head of a page. */
#ifndef TENAX_LINKS_H
#define TENAX_LINKS_H

#include "page.h"

/* Whether one of the words of a text is this one, which is ASCII and lower case: `word in text.lower().split()`. It
 * may have no `k`, as the sign of Kelvin is one in lower case; no other character becomes ASCII alone. */
bool has_word(Text text, const char *word);

/* Whether a text holds this anywhere, in either case: `part in text.lower()`. Of `part` the same is asked. */
bool holds_either_case(Text text, const char *part);

#endif
