"""What a page may cost: where a hostile page is tamed or cut before it reaches the parser.

Building a tree is linear for the pages people write. It is not for pages written against parsers: every open
element is looked at again by the next tag, unclosed formatting is rebuilt in each paragraph, each attribute is compared
with those before it, and each name with many of the others. The parser has no limits of its own, so this room sets
them, as browsers do. Small pages pass after one count; the rest pay for a closer look only when their size allows harm.
Where there is a kernel it looks in our place, and finds the same.
"""

from __future__ import annotations

import re
from array import array
from enum import IntEnum
from typing import Final, NamedTuple

from tenax.model import Value
from tenax.parse.kernel.binding import kernel

MAX_DEPTH = 512
"""Open elements at most, the limit of Blink; what nests deeper is cut off."""
MAX_ATTRIBUTES = 500
"""Attributes of one tag at most."""
MAX_TAGS = 300_000
"""Tags of one page at most, closing ones included: a second and a hundred megabytes. The longest that people write
have half as many."""

MAX_NAMES = 50_000
"""Different names of elements and attributes at most: a third of a second. The richest that people write have some
hundred."""

_HARMLESS_TAGS = 1_000
_HARMLESS_CHARS = 65_536
_HARMLESS_REBUILDS = 250_000
"""Formatting tags times tags: the most elements that rebuilding could make."""
_SHALLOW_TAGS = 16_000
"""So few tags may nest as they like: half a second at worst."""
_MAX_STEPS = 5_000_000
"""Steps the depth count itself may take."""

# The grammar of a start tag in the HTML standard, attribute by attribute, without backtracking.
_WORD = rb"[^\t\n\f\r />]*+"
_NAME = rb"=?[^\t\n\f\r />=]++"
_VALUE = rb"""(?:"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >"'][^\t\n\f\r >]*+)"""
_NAME_AND_VALUE = rb"(?:[\t\n\f\r /]*+%b(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+%b?+)?+)"
_ATTRIBUTE = _NAME_AND_VALUE % (_NAME, _VALUE)
_TOKEN = re.compile(
    rb"<(?:!--(?:-?>|.*?(?:--!?>|\Z))|(?:[!?]|/(?![a-zA-Z]))[^>]*+|(/?)([a-zA-Z]%b)%b*+[\t\n\f\r /]*+)"
    % (_WORD, _ATTRIBUTE),
    re.S,
)
# A plain tag, to its end: most tags are, and need not be read by the whole grammar to be found harmless.
_PLAIN_REST = rb"""(?:[\t\n\f\r ]++[a-zA-Z-]++(?:="[^"]*+")?+){0,99}+[\t\n\f\r ]*+/?>"""
_OTHER_TAG = re.compile(rb"<[a-zA-Z]%b(?!%b)(?=(%b{0,%d}+))" % (_WORD, _PLAIN_REST, _ATTRIBUTE, MAX_ATTRIBUTES))
_CROWDED_TAG = re.compile(rb"<[a-zA-Z]%b%b{%d}" % (_WORD, _ATTRIBUTE, MAX_ATTRIBUTES))
# An attribute, of which the name is wanted; and what may be a name, wherever it stands.
_EACH_NAME = re.compile(_NAME_AND_VALUE % (b"(%b)" % _NAME, _VALUE))
_LIKE_NAME = re.compile(rb"""[\t\n\f\r /"'<]=?([^\t\n\f\r />=]++)""")
_BEFORE_NAMES = tuple(bytes((byte,)) for byte in b"\t\n\f\r /\"'<")
_NAMES_IN_ONE = 3
"""What looks like one name may be another after a quote of either kind."""

# The first letter is looked at on its own, which spares most tags the list.
_FORMATTING = rb"(?=[bcefistuBCEFISTU])(?:b(?:ig)?|code|em|font|i|s(?:mall|trike|trong)?|tt|u)(?=[\s/>])"
_OPENS_FORMATTING = re.compile(b"<" + _FORMATTING, re.I)
_CLOSES_FORMATTING = re.compile(b"</" + _FORMATTING, re.I)
# Those without attributes do no harm, for the standard rebuilds at most three that are alike. By their letters, and a
# few tags more: so they are found at once, and told apart when it matters.
_LIKE_FORMATTING = re.compile(rb"<([bcefistuBCEFISTU][adegiklmnortADEGIKLMNORT]*+)[\s/]")
_FORMATTING_NAMES = frozenset(b"b big code em font i s small strike strong tt u".split())

_RAW_TEXT = {
    name: re.compile(rb"</%b(?=[\s/>])" % name, re.I)
    for name in b"script style textarea title xmp iframe noembed noframes".split()
}
_CDATA_END = re.compile(rb"\]\]>")
_CELLS = frozenset(b"caption col colgroup tbody td tfoot th thead tr".split())
_NEVER_DEEP_NAMES = b"""
html head body p li dt dd option optgroup rb rp rt rtc
area base br embed frame hr img input keygen link meta param source track wbr image basefont bgsound
"""
_NEVER_DEEP = frozenset(_NEVER_DEEP_NAMES.split())
"""Void elements, and elements that close their own kind when the next one opens."""
_WALLS = frozenset(b"table object marquee applet template".split())
"""What an end tag outside cannot reach through."""
_SPECIAL_NAMES = b"""
address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer form
frameset h1 h2 h3 h4 h5 h6 header hgroup iframe listing main menu nav noscript ol plaintext pre search section
select summary svg math ul xmp
"""
_SPECIAL = _WALLS | frozenset(_SPECIAL_NAMES.split())
"""What the end tag of an ordinary element, such as `</span>`, cannot reach through."""
_SVG, _MATH = b"svg", b"math"

# For the kernel, in its order.
_LIMITS: Final = array(
    "Q",
    (
        *(MAX_DEPTH, MAX_ATTRIBUTES, MAX_TAGS),
        *(_HARMLESS_TAGS, _HARMLESS_CHARS, _HARMLESS_REBUILDS, _SHALLOW_TAGS, _MAX_STEPS, MAX_NAMES),
    ),
)
_NAMES: Final = b"\n".join(
    b" ".join(sorted(names))
    for names in (_RAW_TEXT, _CELLS, _NEVER_DEEP, _WALLS, _SPECIAL, _FORMATTING_NAMES, (_SVG, _MATH))
)


class Bounded(Value, frozen=True):
    """Markup that is safe to parse, and what was done to make it so."""

    html: bytes
    why: str = ""
    """Empty unless the page was cut."""


class _Harm(IntEnum):
    """What a page would do to the parser. The kernel knows these by their numbers."""

    NONE = 0
    TAGS = 1
    FORMATTING = 2
    ATTRIBUTES = 3
    DEPTH = 4
    NAMES = 5


class _Found(NamedTuple):
    """The first harm, and where the page is cut for it."""

    harm: _Harm
    at: int = 0


_HARMLESS = _Found(_Harm.NONE)
_WHYS: Final = {
    _Harm.TAGS: f"cut after {MAX_TAGS:,} tags",
    _Harm.ATTRIBUTES: f"cut at a tag with more than {MAX_ATTRIBUTES} attributes",
    _Harm.DEPTH: f"cut where elements nest or tangle more than {MAX_DEPTH} deep",
    _Harm.NAMES: f"cut after {MAX_NAMES:,} names of elements and attributes",
}


def bounded(html: bytes, *, with_kernel: bool = True) -> Bounded:
    """The page itself, in UTF-8, or the part of it that parses in bounded time and memory."""
    found = _found_in(html, with_kernel)
    if found.harm is _Harm.FORMATTING:
        # Nothing is lost: we take neither links nor meaning from these elements.
        html = _CLOSES_FORMATTING.sub(b"</span", _OPENS_FORMATTING.sub(b"<span", html))
        found = _found_in(html, with_kernel)
    if found.harm is _Harm.NONE:
        return Bounded(html)
    kept = html[: found.at]
    if found.harm is _Harm.TAGS:
        kept = bounded(kept, with_kernel=with_kernel).html
    return Bounded(kept, _WHYS[found.harm])


def _found_in(html: bytes, with_kernel: bool) -> _Found:
    ready = kernel() if with_kernel else None
    told = ready.bounds(html, _LIMITS, _NAMES) if ready is not None else None
    return _look(html) if told is None else _Found(_Harm(told[0]), told[1])


def _look(html: bytes) -> _Found:
    tags = html.count(b"<")
    if tags > MAX_TAGS:
        rest = html.split(b"<", MAX_TAGS)[-1]
        return _Found(_Harm.TAGS, len(html) - len(rest) - 1)
    if tags > _HARMLESS_TAGS and _rebuilds(html, tags) > _HARMLESS_REBUILDS:
        return _Found(_Harm.FORMATTING)
    may_nest = tags > _SHALLOW_TAGS
    is_large = len(html) > _HARMLESS_CHARS
    is_named = is_large and _may_name(html)
    if may_nest or is_named or (is_large and _may_crowd(html)):
        return _walk(html, MAX_DEPTH if may_nest else tags, is_named)
    return _HARMLESS


def _may_name(html: bytes) -> bool:
    """Whether there may be too many names; most pages are cleared by counting what a name stands behind."""
    if sum(map(html.count, _BEFORE_NAMES)) <= MAX_NAMES:
        return False
    return _NAMES_IN_ONE * len(set(_LIKE_NAME.findall(html))) > MAX_NAMES


def _may_crowd(html: bytes) -> bool:
    """Whether any tag may have too many attributes. Script text can look so too; the walk tells them apart.

    It looks at everything that could be a tag, so where tags do not end it looks at the same again and again; when it
    has looked at more than there is, the walk, which does not, is quicker.
    """
    left = 2 * len(html)
    for tag in _OTHER_TAG.finditer(html):
        start, end = tag.span(1)
        if end - start >= 2 * MAX_ATTRIBUTES and _CROWDED_TAG.match(html, tag.start()):
            return True
        left -= end - start
        if left < 0:
            return True
    return False


def _rebuilds(html: bytes, tags: int) -> int:
    """The most elements that rebuilding could make; exact only where a quick look does not clear the page."""
    found = _LIKE_FORMATTING.findall(html)
    if len(found) * tags <= _HARMLESS_REBUILDS:
        return len(found) * tags
    return sum(name.lower() in _FORMATTING_NAMES for name in found) * tags


def _walk(html: bytes, max_depth: int, is_named: bool) -> _Found:
    """Walk the tags as the tokenizer of the HTML standard would, with a rough count of what is still open.

    One that `is_named` may have too many names; they are counted.
    """
    still_open: list[bytes] = []
    names: set[bytes] = set()
    position = deaf_until = steps = 0
    while (token := _TOKEN.search(html, position)) is not None:
        position = token.end()
        start, name, source = token.start(), (token[2] or b"").lower(), token[0]
        if is_named:
            names.update(_names_in(source.lower(), name))
            if len(names) > MAX_NAMES:
                return _Found(_Harm.NAMES, start)
        if not name:
            if source.startswith(b"<![CDATA[") and start >= deaf_until and _is_foreign(still_open):
                deaf_until = _end_of(_CDATA_END, html, position)
        elif token[1]:
            if start >= deaf_until:
                steps += _close(still_open, name)
        elif len(source) > 2 * MAX_ATTRIBUTES and _CROWDED_TAG.match(source):
            return _Found(_Harm.ATTRIBUTES, start)
        elif name in _RAW_TEXT and not _is_foreign(still_open):
            position = _end_of(_RAW_TEXT[name], html, position)
        elif name in _RAW_TEXT:
            # Within SVG its content may be markup after all: what opens there counts, what closes does not.
            still_open.append(name)
            if start >= deaf_until:
                deaf_until = _end_of(_RAW_TEXT[name], html, position)
        elif name in _CELLS:
            steps += _close(still_open, name)
        elif name not in _NEVER_DEEP and not (source.endswith(b"/") and _is_foreign(still_open)):
            still_open.append(name)
        if len(still_open) > max_depth or steps > _MAX_STEPS:
            return _Found(_Harm.DEPTH, start)
    return _HARMLESS


def _names_in(token: bytes, name: bytes) -> list[bytes]:
    """Those of a tag in lower case, or the whole of a document type, for which the parser makes a name, too."""
    if name:
        return [name, *_EACH_NAME.findall(token, token.index(name) + len(name))]
    return [token] if token.startswith(b"<!doctype") else []


def _end_of(closing: re.Pattern[bytes], html: bytes, position: int) -> int:
    found = closing.search(html, position)
    return found.start() if found else len(html)


def _is_foreign(still_open: list[bytes]) -> bool:
    """Within SVG or MathML, where `<path/>` closes itself and `<title>` may hold elements."""
    return _SVG in still_open or _MATH in still_open


def _close(still_open: list[bytes], name: bytes) -> int:
    """Close the nearest open element of this name, unless one that the tag cannot reach through stands before it.

    A cell or row, opening or closing, ends whatever is open within its table. Returns the steps this took.
    """
    is_cell = name in _CELLS
    if is_cell:
        name = b"table"
    walls = _WALLS if name in _SPECIAL or name == b"a" else _SPECIAL
    for steps, index in enumerate(range(len(still_open) - 1, -1, -1)):
        if still_open[index] == name:
            del still_open[index + is_cell :]
            return steps
        if still_open[index] in walls:
            return steps
    return len(still_open)
