"""Documents made by repetition, for the fuzzer of extraction costs.

A shape is a short list of runs: texts, each repeated to fill its share of the document. The same shape can be built at
any size, so that costs at different sizes can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from bench.fuzz_words import ATTRIBUTES, ELEMENTS

Form: TypeAlias = Literal["html", "feed", "sitemap"]

SEEDS: Final = Path(__file__).with_name("cost_seeds.jsonl")
"""Shapes that were costly before, one line of JSON each: [form, [[text, share], …]]."""
CURRENT: Final = "cost-current.json"
"""File in the directory of findings with the current shape: it survives a crash of the process."""
MOST_RUNS: Final = 6
MOST_UNIT_CHARS: Final = 3_000


class Run(NamedTuple):
    """A text and its share of the document; 0 means once. `%d` is the number of the repetition."""

    text: str
    share: int


class Shape(NamedTuple):
    form: Form
    runs: tuple[Run, ...]

    def made(self, size: int) -> bytes:
        """The document of about this many bytes."""
        prefix, suffix = _AROUND[self.form]
        room = size - len(prefix) - len(suffix) - sum(len(_bytes(run.text)) for run in self.runs if not run.share)
        shares = sum(run.share for run in self.runs) or 1
        middle = b"".join(_repeated(run, max(room, 0) * run.share // shares) for run in self.runs)
        return prefix + middle + suffix

    def line(self) -> str:
        return json.dumps([self.form, [[run.text, run.share] for run in self.runs]])


def shape_in(line: str) -> Shape:
    form, runs = json.loads(line)
    return Shape(form, tuple(Run(text, share) for text, share in runs))


def kept_shapes() -> list[Shape]:
    return [shape_in(line) for line in SEEDS.read_text("utf-8").splitlines()]


def _bytes(text: str) -> bytes:
    """Encode as UTF-8; lone surrogates stand for invalid bytes."""
    return text.encode("utf-8", "surrogateescape")


def _repeated(run: Run, size: int) -> bytes:
    unit = _bytes(run.text)
    if not run.share:
        return unit.replace(b"%d", b"0")
    count = max(size // (len(unit) + 2 * unit.count(b"%d") or 1), 1)
    if b"%d" not in unit:
        return unit * count
    return b"".join(unit.replace(b"%d", b"%d" % number) for number in range(count))


_AROUND: Final[dict[Form, tuple[bytes, bytes]]] = {
    "html": (b"", b""),
    "feed": (b'<?xml version="1.0"?><rss version="2.0"><channel>', b"</channel></rss>"),
    "sitemap": (b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">', b"</urlset>"),
}


def _fragments() -> dict[str, list[str]]:
    """Lines by section of the file; characters are escaped as in JSON."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("cost_fragments.txt").read_text("utf-8").splitlines():
        if line in ("[letters]", "[html]", "[json]", "[feed]", "[sitemap]"):
            section = found.setdefault(line[1:-1], [])
        else:
            section.append(line)
    return found


_FRAGMENTS: Final = _fragments()
_ATTRIBUTE_NAMES: Final = "class id href title alt style content datetime srcset src lang rel itemprop"
_PROSE: Final = "<p>The keeper of the lighthouse, on a calm evening, told us that nobody had ever asked her why.</p>"
_LETTERS: Final[list[str]] = [json.loads(f'"{line}"') for line in _FRAGMENTS["letters"]]
_VALUES: Final = [
    *(f"{name}='%s'" for name in _ATTRIBUTE_NAMES.split()),
    "href='/%s'",
    "href='//e.test/%s'",
    "a%s",
    "%s",
]


def fragment(form: Form, random: Random) -> str:
    """A random building block."""
    if form != "html" and random.random() < 0.8:
        return random.choice(_FRAGMENTS[form])
    roll = random.random()
    if roll < 0.45:
        return random.choice(_FRAGMENTS["html"])
    if roll < 0.6:
        return random.choice(_LETTERS)
    name = random.choice(ELEMENTS)
    if roll < 0.68:
        return f"<{name}>"
    if roll < 0.72:
        return f"</{name}>"
    if roll < 0.76:
        return f"<{name}>x</{name}>"
    if roll < 0.8:
        return f"<{name} {random.choice(ATTRIBUTES)}>"
    if roll < 0.83:
        return f"<{name} a%d>"
    if roll < 0.9:
        return random.choice(_FRAGMENTS["json"])
    value = random.choice(_VALUES).replace("%s", random.choice(_LETTERS).replace("'", "") * random.choice((1, 3, 40)))
    return f"<{name} {value}>"


_OPENINGS: Final = (
    *("<p>", "<div>", "<svg>", "<table>", "<select>", "<ruby>", "<article>" + _PROSE * 4, _PROSE * 30, "<pre>", "<h1>"),
    *(
        "<title>",
        "<script type=application/ld+json>",
        "<script>",
        "<p class='",
        "<a href='",
        "<img alt='",
        "<meta content='",
    ),
    *("<meta name=author content='", "<meta name=keywords content='", "<meta name=date content='", "<time datetime='"),
    *("<title>A story</title><h1>A story</h1>", "<h1>A story</h1><p>", "<p>" + "word " * 300, "<span class=author>"),
    *("<meta name=robots content='", "<base href='", "<link rel=canonical href='", "<html lang='", "<meta charset='"),
    *("<article><h1>A</h1>" + _PROSE * 8 + "<table>", "<article>" + _PROSE * 8 + "<ul>", "<article><p>", "<!--"),
    *(
        "<article>" + _PROSE * 8 + "<pre>",
        "<article>" + _PROSE * 8 + "<p>",
        "<noscript>",
        "<template>",
        "<img srcset='",
    ),
    *("<p style='", "<script type=application/ld+json>[", '<script type=application/ld+json>{"@graph":['),
    *("<article><h1>A story</h1><p>By Ann Lee</p>" + _PROSE * 4, "<meta property=og:title content='", "<body><br>"),
)


def random_shape(random: Random) -> Shape:
    form: Form = random.choice(("html",) * 8 + ("feed", "sitemap"))
    runs = []
    if form == "html" and random.random() < 0.6:
        runs.append(Run(random.choice(_OPENINGS), 0))
    runs += [_run(form, random) for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
    return Shape(form, tuple(runs))


def mutated(shape: Shape, others: Sequence[Shape], random: Random) -> Shape:
    """The shape with one to three changes."""
    runs = list(shape.runs)
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(runs))
        text, share = runs[at]
        match random.randrange(10):
            case 0:
                runs[at] = Run(fragment(shape.form, random), share)
            case 1:
                runs[at] = Run(text + fragment(shape.form, random), share)
            case 2:
                runs[at] = Run(fragment(shape.form, random) + text, share)
            case 3:
                runs.insert(at + random.randrange(2), _run(shape.form, random))
            case 4 if len(runs) > 1:
                del runs[at]
            case 5:
                runs[at] = Run(text, random.choice((0, 1, 1, 3, 10)))
            case 6:
                runs[at] = Run(text * random.choice((2, 10, 100)), share)
            case 7 if same := [one for one in others if one.form == shape.form]:
                other = random.choice(same).runs
                runs = runs[: at + 1] + list(other[random.randrange(len(other)) :])
            case 8 if len(text) > 1:
                start = random.randrange(len(text))
                runs[at] = Run(text[:start] + text[start + random.choice((1, 2, 5, 20)) :] or "x", share)
            case 9 if shape.form == "html":
                runs.insert(0, Run(random.choice(_OPENINGS), 0))
            case _:
                random.shuffle(runs)
    runs = [Run(text[:MOST_UNIT_CHARS] or "x", share) for text, share in runs[:MOST_RUNS]]
    if not any(run.share for run in runs):
        runs[-1] = Run(runs[-1].text, 1)
    return Shape(shape.form, tuple(runs))


def _run(form: Form, random: Random) -> Run:
    parts = random.choice((1, 1, 1, 2, 2, 3))
    return Run("".join(fragment(form, random) for _ in range(parts)), random.choice((1, 1, 1, 3)))
