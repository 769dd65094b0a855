"""Pages as HTML: the frame every page of a host shares, and the bytes it is sent as."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape

from tenax.demo import Answer, Site
from tenax.demo.host_site import Article, Place, listing_path, place_of, tag_path
from tenax.demo.prose import date_line
from tenax.model import Value

FOOTER_NEIGHBOURS = 5

_STYLE = """
  body { margin: 0; font: 18px/1.6 Georgia, "Hiragino Mincho ProN", serif; color: #222; background: #fbfaf7; }
  header, main, footer { max-width: 44rem; margin: 0 auto; padding: 1rem 1.5rem; }
  header { border-bottom: 4px double COLOUR; }
  header p { margin: 0; color: #666; font-style: italic; }
  .name { font-size: 2rem; font-weight: bold; color: COLOUR; text-decoration: none; }
  nav ul { list-style: none; padding: 0; margin: .5rem 0 0; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
  a { color: COLOUR; }
  h1 { line-height: 1.2; }
  .byline, .crumbs, .teaser time { color: #666; font-size: .85rem; }
  .teaser { border-top: 1px solid #ddd; padding: .6rem 0; }
  .teaser h2 { font-size: 1.15rem; margin: 0; }
  aside { border-top: 1px solid #ddd; margin-top: 2rem; font-size: .9rem; }
  footer { border-top: 1px solid #ddd; color: #666; font-size: .85rem; }
  .pages { display: flex; gap: .6rem; flex-wrap: wrap; padding: 0; list-style: none; }
"""


class Stage(Value, frozen=True):
    """Where a page is shown: the whole site, one of its hosts, and the addresses all hosts answer at."""

    site: Site
    place: Place
    origins: tuple[str, ...]
    footer_links: tuple[tuple[str, str], ...] = ()
    """Path and text of what this host adds at the foot of its pages."""

    @property
    def origin(self) -> str:
        return self.origins[self.place.index]


class Sheet(Value, frozen=True):
    """One page before it is framed."""

    path: str
    title: str
    body: str
    """HTML."""
    description: str = ""
    kind: str = "website"
    """og:type."""
    article: Article | None = None
    head: str = ""
    """More HTML for the head."""
    query: str = ""


def link(href: str, text: str, attributes: str = "") -> str:
    return f'<a href="{escape(href)}"{attributes}>{escape(text)}</a>'


def items(links: Iterable[str]) -> str:
    return "".join(f"\n    <li>{one}</li>" for one in links)


def teaser(place: Place, article: Article) -> str:
    """An article as a list shows it."""
    tags = ", ".join(link(tag_path(place.theme, tag), place.theme.tags[tag].title) for tag in article.tags)
    return f"""
  <div class="teaser">
    <h2>{link(article.path, article.title)}</h2>
    <p>{escape(article.lead)} {link(article.path, place.theme.labels.read)}</p>
    <time datetime="{article.day}">{date_line(place.theme, article.day)}</time> · {tags}
  </div>"""


def paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"\n  <p>{escape(text, quote=False)}</p>" for text in texts)


def page(stage: Stage, sheet: Sheet) -> Answer:
    """The sheet in the host's frame, in the host's charset."""
    theme = stage.place.theme
    text = f"""<!DOCTYPE html>
<html lang="{theme.language}">
<head>{_declaration(stage.place)}
<title>{escape(sheet.title, quote=False)} | {escape(stage.place.name)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{_meta(stage, sheet)}{sheet.head}
<style>{_STYLE.replace("COLOUR", theme.colour)}</style>
</head>
<body>{_masthead(stage.place)}
<main>
  <h1>{escape(sheet.title, quote=False)}</h1>{sheet.body}
</main>{_footer(stage)}
</body>
</html>
"""
    return Answer(200, encoded(stage.place, text), content_type=content_type(stage.place))


def content_type(place: Place) -> str:
    return f"text/html; charset={place.theme.charset}" if place.theme.declared_in == "header" else "text/html"


def encoded(place: Place, text: str) -> bytes:
    """What the charset lacks, such as a neighbour's name in another script, is written as a reference."""
    return text.encode(place.theme.charset, "xmlcharrefreplace")


def _declaration(place: Place) -> str:
    return f'\n<meta charset="{place.theme.charset}">' if place.theme.declared_in == "meta" else ""


def _meta(stage: Stage, sheet: Sheet) -> str:
    url = stage.origin + sheet.path + (f"?{sheet.query}" if sheet.query else "")
    title, description = escape(sheet.title), escape(sheet.description or stage.place.tagline)
    lines = [
        f'<meta name="description" content="{description}">',
        f'<link rel="canonical" href="{escape(url)}">',
        f'<meta property="og:title" content="{title}">',
        f'<meta property="og:description" content="{description}">',
        f'<meta property="og:type" content="{sheet.kind}">',
        f'<meta property="og:url" content="{escape(url)}">',
        f'<meta property="og:site_name" content="{escape(stage.place.name)}">',
    ]
    if sheet.article is not None:
        lines.append(f'<meta name="author" content="{escape(sheet.article.author)}">')
        lines.append(f'<meta property="article:published_time" content="{sheet.article.day}T08:00:00Z">')
        lines.append(f'<script type="application/ld+json">{_json_ld(stage, sheet.article, url)}</script>')
    return "\n" + "\n".join(lines)


def _json_ld(stage: Stage, article: Article, url: str) -> str:
    theme = stage.place.theme
    facts: dict[str, object] = {"@context": "https://schema.org", "@type": theme.schema, "url": url}
    if theme.schema == "Product":
        price = f"{stage.place.dice(article.path).randint(490, 9900) / 100:.2f}"
        offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
        facts |= {"name": article.title, "description": article.lead, "offers": offer}
    else:
        facts |= {"headline": article.title, "description": article.lead, "inLanguage": theme.language}
    facts |= {
        "datePublished": f"{article.day}T08:00:00Z",
        "author": {"@type": "Person", "name": article.author},
        "publisher": {"@type": "Organization", "name": stage.place.name},
    }
    return json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c")


def _masthead(place: Place) -> str:
    theme, labels = place.theme, place.theme.labels
    links = [link("/", labels.home)]
    links += [link(listing_path(theme, number, 1), section.title) for number, section in enumerate(theme.sections)]
    links += [link("/tags/", labels.tags), link("/about", labels.about), link("/contact", labels.contact)]
    return f"""
<header>
  <a class="name" href="/">{escape(place.name)}</a>
  <p>{escape(place.tagline)}</p>
  <nav><ul>{items(links)}
  </ul></nav>
</header>"""


def _footer(stage: Stage) -> str:
    labels = stage.place.theme.labels
    own = [link("/join", labels.join)]
    if stage.place.has_privacy:
        own.append(link("/privacy", labels.privacy))
    own += [link(path, text) for path, text in stage.footer_links]
    steps = range(1, min(FOOTER_NEIGHBOURS + 1, stage.site.hosts))
    others = [place_of(stage.site, (stage.place.index + step) % stage.site.hosts) for step in steps]
    near = [link(stage.origins[other.index] + "/", other.name) for other in others]
    return f"""
<footer>
  <p>{" · ".join(own)}</p>
  <p>{escape(labels.neighbours)}: {" · ".join(near)}</p>
  <p>© {escape(stage.place.name)}</p>
</footer>"""
