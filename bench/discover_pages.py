"""The HTML of the discovery site: articles and lists."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cache

from bench.discover_behaviours import HostBehaviour, Trap
from bench.discover_site import Article, Host, Listing, Site
from bench.site import WORDS

PARAGRAPHS = (6, 12)
SENTENCES = (3, 5)
WORDS_A_SENTENCE = (9, 24)
AUTHORS = ("Anna Bell", "Carl Dunn", "Edith Frost", "Georg Hale", "Ida Jones", "Karl Lund", "Mary Nash", "Otto Pike")
TRAP_ADDRESS = {
    Trap.CALENDAR: "/calendar/{today:%Y/%m}/",
    Trap.SAME_NEXT: "/moments/",
    Trap.JUNK_NEXT: "/stream/",
    Trap.FACETS: "/catalogue/",
}


def article_page(site: Site, host: Host, article: Article) -> str:
    dice = random.Random(f"text {site.seed} {host.index} {article.path}")
    related = _list((one.path, one.title) for one in host.related(article, dice))
    author = dice.choice(AUTHORS)
    text = "\n".join(f"<p>{paragraph(dice)}</p>" for _ in range(dice.randint(*PARAGRAPHS)))
    head = (
        f'<meta property="og:type" content="article">\n<meta name="author" content="{author}">\n'
        f'<meta property="article:published_time" content="{article.day}T08:00:00Z">'
    )
    main = (
        f'<article>\n<h1>{article.title}</h1>\n<p class="byline">By {author}, '
        f'<time datetime="{article.day}">{article.day:%d %B %Y}</time></p>\n{text}\n</article>\n'
        f'<aside class="related"><h2>Related</h2>{related}</aside>'
    )
    return _page(host.behaviour, article.title, main, head)


def listing_page(site: Site, host: Host, address: str, listing: Listing, origins: Sequence[str]) -> str:
    """A teaser per article, then the pager or other links; a home page also links to the other hosts."""
    main = f"<h1>{listing.title}</h1>\n{teasers(site, host, listing.articles)}"
    if listing.links:
        main += f'\n<nav class="pager">{_list(listing.links)}</nav>'
    head = feed_announcement(host.behaviour, address)
    if listing.head_next:
        head += f'\n<link rel="next" href="{listing.head_next}">'
    if address == "/":
        main += f"\n{_list(_beyond(site, host, origins))}"
    return _page(host.behaviour, listing.title, main, head)


def plain_page(host: Host, title: str, main: str, head: str = "") -> str:
    """A page with this content in the layout of its host."""
    return _page(host.behaviour, title, f"<h1>{title}</h1>\n{main}", head)


def teasers(site: Site, host: Host, articles: Iterable[Article]) -> str:
    items = []
    for one in articles:
        teaser = sentence(random.Random(f"teaser {site.seed} {host.index} {one.path}"))
        items.append(f'<li><h3><a href="{one.path}">{one.title}</a></h3><time>{one.day}</time><p>{teaser}</p></li>\n')
    return f'<ul class="teasers">\n{"".join(items)}</ul>' if items else ""


def paragraph(dice: random.Random) -> str:
    return " ".join(sentence(dice) for _ in range(dice.randint(*SENTENCES)))


def sentence(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(*WORDS_A_SENTENCE))).capitalize() + "."


def feed_announcement(behaviour: HostBehaviour, address: str) -> str:
    """For the head of a home page, or of a section front when sections have feeds."""
    section = address.strip("/")
    has_own = "{section}" in behaviour.feed
    if not behaviour.announces_feed or (section not in behaviour.sections if has_own else section != ""):
        return ""
    address = behaviour.feed.format(section=section)
    return f'<link rel="alternate" type="{behaviour.feed_form}" title="News" href="{address}">'


def _beyond(site: Site, host: Host, origins: Sequence[str]) -> Iterable[tuple[str, str]]:
    if host.behaviour.trap is not None:
        yield (
            TRAP_ADDRESS[host.behaviour.trap].format(today=site.today),
            host.behaviour.trap.replace("_", " ").capitalize(),
        )
    for position, origin in enumerate(origins):
        if position != host.index:
            yield f"{origin}/", f"Sister paper {position}"


def _list(links: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="{address}">{words}</a></li>\n' for address, words in links)
    return f"<ul>\n{items}</ul>"


@cache
def _navigation(behaviour: HostBehaviour) -> str:
    sections = ((f"/{section}/", section.capitalize()) for section in behaviour.sections)
    return _list((("/", "Front page"), *sections))


def _page(behaviour: HostBehaviour, title: str, main: str, head: str) -> str:
    name = f"The {behaviour.sections[0].capitalize()} Paper"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} - {name}</title>
{head}
</head>
<body>
<header><p>{name}</p><nav>{_navigation(behaviour)}</nav></header>
<main>
{main}
</main>
<footer><p>All of this was made up by a machine.</p></footer>
</body>
</html>
"""
