"""The well-behaved pages of a host as HTML: front page, sections, tags, articles, and the frame around them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from random import Random

from tenax.demo import Answer, Site
from tenax.demo.host_site import (
    ARTICLES_PER_LISTING,
    Article,
    HostSite,
    build_host_site,
    fill_template,
    format_date,
    listing_path,
    listing_paths,
    page_paths,
    section_articles,
    tag_articles,
    tag_path,
    write_article,
    write_paragraph,
)
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


class PageContext(Value, frozen=True):
    """The site, the host of the page, and the origins of all hosts."""

    site: Site
    host: HostSite
    origins: tuple[str, ...]
    footer_links: tuple[tuple[str, str], ...] = ()
    """Path and text of extra links in the footer."""

    @property
    def origin(self) -> str:
        return self.origins[self.host.index]


class PageContent(Value, frozen=True):
    """One page without its frame."""

    path: str
    title: str
    body: str
    """HTML."""
    description: str = ""
    kind: str = "website"
    """The value of og:type."""
    article: Article | None = None
    head: str = ""
    """More HTML for the head."""
    query: str = ""


def render_link(href: str, text: str, attributes: str = "") -> str:
    return f'<a href="{escape(href)}"{attributes}>{escape(text)}</a>'


def render_items(links: Iterable[str]) -> str:
    return "".join(f"\n    <li>{one}</li>" for one in links)


def render_teaser(host: HostSite, article: Article) -> str:
    """An article in a list."""
    tags = ", ".join(render_link(tag_path(host.theme, tag), host.theme.tags[tag].title) for tag in article.tags)
    return f"""
  <div class="teaser">
    <h2>{render_link(article.path, article.title)}</h2>
    <p>{escape(article.lead)} {render_link(article.path, host.theme.labels.read)}</p>
    <time datetime="{article.day}">{format_date(host.theme, article.day)}</time> · {tags}
  </div>"""


def render_paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"\n  <p>{escape(text, quote=False)}</p>" for text in texts)


def render_page(context: PageContext, content: PageContent) -> Answer:
    """The page in the host's frame and charset."""
    theme = context.host.theme
    text = f"""<!DOCTYPE html>
<html lang="{theme.language}">
<head>{_render_charset(context.host)}
<title>{escape(content.title, quote=False)} | {escape(context.host.name)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{_render_meta(context, content)}{content.head}
<style>{_STYLE.replace("COLOUR", theme.colour)}</style>
</head>
<body>{_render_header(context.host)}
<main>
  <h1>{escape(content.title, quote=False)}</h1>{content.body}
</main>{_render_footer(context)}
</body>
</html>
"""
    return Answer(200, encode_html(context.host, text), content_type=page_content_type(context.host))


def page_content_type(host: HostSite) -> str:
    return f"text/html; charset={host.theme.charset}" if host.theme.declared_in == "header" else "text/html"


def encode_html(host: HostSite, text: str) -> bytes:
    """Encode in the charset of the host. Other characters become character references."""
    return text.encode(host.theme.charset, "xmlcharrefreplace")


def _render_charset(host: HostSite) -> str:
    return f'\n<meta charset="{host.theme.charset}">' if host.theme.declared_in == "meta" else ""


def _render_meta(context: PageContext, content: PageContent) -> str:
    url = context.origin + content.path + (f"?{content.query}" if content.query else "")
    title, description = escape(content.title), escape(content.description or context.host.tagline)
    lines = [
        f'<meta name="description" content="{description}">',
        f'<link rel="canonical" href="{escape(url)}">',
        f'<meta property="og:title" content="{title}">',
        f'<meta property="og:description" content="{description}">',
        f'<meta property="og:type" content="{content.kind}">',
        f'<meta property="og:url" content="{escape(url)}">',
        f'<meta property="og:site_name" content="{escape(context.host.name)}">',
    ]
    if content.article is not None:
        lines.append(f'<meta name="author" content="{escape(content.article.author)}">')
        lines.append(f'<meta property="article:published_time" content="{content.article.day}T08:00:00Z">')
        lines.append(f'<script type="application/ld+json">{_render_json_ld(context, content.article, url)}</script>')
    return "\n" + "\n".join(lines)


def _render_json_ld(context: PageContext, article: Article, url: str) -> str:
    theme = context.host.theme
    facts: dict[str, object] = {"@context": "https://schema.org", "@type": theme.schema, "url": url}
    if theme.schema == "Product":
        price = f"{context.host.page_rng(article.path).randint(490, 9900) / 100:.2f}"
        offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
        facts |= {"name": article.title, "description": article.lead, "offers": offer}
    else:
        facts |= {"headline": article.title, "description": article.lead, "inLanguage": theme.language}
    facts |= {
        "datePublished": f"{article.day}T08:00:00Z",
        "author": {"@type": "Person", "name": article.author},
        "publisher": {"@type": "Organization", "name": context.host.name},
    }
    return json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c")


def _render_header(host: HostSite) -> str:
    theme, labels = host.theme, host.theme.labels
    links = [render_link("/", labels.home)]
    links += [
        render_link(listing_path(theme, number, 1), section.title) for number, section in enumerate(theme.sections)
    ]
    links += [
        render_link("/tags/", labels.tags),
        render_link("/about", labels.about),
        render_link("/contact", labels.contact),
    ]
    return f"""
<header>
  <a class="name" href="/">{escape(host.name)}</a>
  <p>{escape(host.tagline)}</p>
  <nav><ul>{render_items(links)}
  </ul></nav>
</header>"""


def _render_footer(context: PageContext) -> str:
    labels = context.host.theme.labels
    own = [render_link("/join", labels.join)]
    if context.host.has_privacy_page:
        own.append(render_link("/privacy", labels.privacy))
    own += [render_link(path, text) for path, text in context.footer_links]
    steps = range(1, min(FOOTER_NEIGHBOURS + 1, context.site.hosts))
    others = [build_host_site(context.site, (context.host.index + step) % context.site.hosts) for step in steps]
    near = [render_link(context.origins[other.index] + "/", other.name) for other in others]
    return f"""
<footer>
  <p>{" · ".join(own)}</p>
  <p>{escape(labels.neighbours)}: {" · ".join(near)}</p>
  <p>© {escape(context.host.name)}</p>
</footer>"""


FRONT_TEASERS = 12
RELATED_ARTICLES = 6
FOREIGN_LINKS = 3


def ordinary_page(context: PageContext, path: str) -> Answer | None:
    """The page at this path; None if there is none."""
    if path not in page_paths(context.site, context.host.index):
        return None
    if path == "/":
        return _front_page(context)
    if path == "/tags/":
        return _tag_index_page(context)
    if path.startswith("/tags/"):
        return _tag_page(context, path)
    if path in ("/about", "/contact", "/join", "/privacy"):
        title: str = getattr(context.host.theme.labels, path[1:])
        return standalone_page(context, path, title)
    return _section_page(context, path)


def standalone_page(
    context: PageContext, path: str, title: str, extra: str = "", head: str = "", query: str = ""
) -> Answer:
    """A page outside of the sections, with generated text, `extra` HTML, and links to articles."""
    theme, dice = context.host.theme, context.host.page_rng(path)
    prose = render_paragraphs(write_article(theme, fill_template(theme, theme.leads, dice), dice))
    body = prose + extra + _render_aside(context, theme.labels.latest, context.host.articles[:RELATED_ARTICLES])
    description = fill_template(theme, theme.leads, dice)
    return render_page(context, PageContent(path, title, body, description, head=head, query=query))


def _front_page(context: PageContext) -> Answer:
    theme, dice = context.host.theme, context.host.page_rng("/")
    teasers = "".join(render_teaser(context.host, article) for article in context.host.articles[:FRONT_TEASERS])
    body = render_paragraphs([write_paragraph(theme, dice)]) + f"\n  <h2>{theme.labels.latest}</h2>" + teasers
    return render_page(
        context,
        PageContent("/", context.host.tagline, body + _render_foreign_links(context, dice), context.host.tagline),
    )


def _tag_index_page(context: PageContext) -> Answer:
    theme, dice = context.host.theme, context.host.page_rng("/tags/")
    parts = []
    for number, tag in enumerate(theme.tags):
        newest = render_items(
            render_link(article.path, article.title) for article in tag_articles(context.host, number)[:4]
        )
        parts.append(
            f"\n  <h2>{render_link(tag_path(theme, number), tag.title)}</h2>"
            + render_paragraphs([write_paragraph(theme, dice)])
            + f"\n  <ul>{newest}\n  </ul>"
        )
    return render_page(context, PageContent("/tags/", theme.labels.tags, "".join(parts)))


def _tag_page(context: PageContext, path: str) -> Answer:
    theme, dice = context.host.theme, context.host.page_rng(path)
    number = next(number for number in range(len(theme.tags)) if tag_path(theme, number) == path)
    teasers = "".join(render_teaser(context.host, article) for article in tag_articles(context.host, number))
    body = render_paragraphs([write_paragraph(theme, dice), write_paragraph(theme, dice)]) + teasers
    return render_page(context, PageContent(path, theme.tags[number].title, body))


def _section_page(context: PageContext, path: str) -> Answer:
    theme = context.host.theme
    head = path.split("/")[1]
    section = next(number for number, heading in enumerate(theme.sections) if heading.path == head)
    paths = listing_paths(context.host, section)
    if path in paths:
        return _listing_page(context, section, paths.index(path) + 1, paths)
    articles = section_articles(context.host, section)
    position = next(number for number, article in enumerate(articles) if article.path == path)
    return _article_page(context, articles, position)


def _listing_page(context: PageContext, section: int, number: int, paths: list[str]) -> Answer:
    """One listing of a section. It links to all others, so each is at most two links from the front page."""
    theme, labels = context.host.theme, context.host.theme.labels
    heading, path = theme.sections[section], paths[number - 1]
    shown = section_articles(context.host, section)[(number - 1) * ARTICLES_PER_LISTING : number * ARTICLES_PER_LISTING]
    dice = context.host.page_rng(path)
    intro = render_paragraphs([write_paragraph(theme, dice), write_paragraph(theme, dice)])
    page_links = render_items(render_link(other, str(position)) for position, other in enumerate(paths, 1))
    pager = f'\n  <ul class="pages">{page_links}\n  </ul>'
    title = heading.title if number == 1 else f"{heading.title}, {labels.page} {number}"
    body = intro + "".join(render_teaser(context.host, article) for article in shown) + pager
    return render_page(context, PageContent(path, title, body + _render_foreign_links(context, dice)))


def _article_page(context: PageContext, articles: tuple[Article, ...], position: int) -> Answer:
    article, theme, labels = articles[position], context.host.theme, context.host.theme.labels
    dice = context.host.page_rng(article.path)
    section = listing_path(theme, article.section, 1)
    crumbs = f"{render_link('/', labels.home)} › {render_link(section, theme.sections[article.section].title)}"
    byline = f"{labels.by} {article.author}, {format_date(theme, article.day)}"
    tags = render_items(render_link(tag_path(theme, tag), theme.tags[tag].title, ' rel="tag"') for tag in article.tags)
    later, earlier = articles[position - 1], articles[(position + 1) % len(articles)]
    older_link, newer_link = render_link(earlier.path, earlier.title), render_link(later.path, later.title)
    body = f"""
  <p class="crumbs">{crumbs}</p>
  <article>
  <p class="byline">{byline}</p>{render_paragraphs(write_article(theme, article.lead, dice))}
  </article>
  <ul>{tags}
  </ul>
  <p>{labels.previous}: {older_link} · {labels.next}: {newer_link}</p>"""
    related = dice.sample(articles, min(RELATED_ARTICLES, len(articles)))
    body += _render_aside(context, labels.related, tuple(related)) + _render_foreign_links(context, dice)
    kind = "product" if theme.schema == "Product" else "article"
    return render_page(
        context, PageContent(article.path, article.title, body, description=article.lead, kind=kind, article=article)
    )


def _render_aside(context: PageContext, title: str, articles: tuple[Article, ...]) -> str:
    links = render_items(render_link(article.path, article.title) for article in articles)
    return f"\n  <aside><h2>{title}</h2><ul>{links}\n  </ul></aside>"


def _render_foreign_links(context: PageContext, rng: Random) -> str:
    """Links to articles of other hosts. There are none to listings: a listing first found at a great depth would hide
    its articles."""
    others = [index for index in range(context.site.hosts) if index != context.host.index]
    links = []
    for index in rng.sample(others, min(FOREIGN_LINKS, len(others))):
        other = build_host_site(context.site, index)
        article = rng.choice(other.articles)
        links.append(render_link(context.origins[index] + article.path, f"{other.name}: {article.title}"))
    return f"\n  <aside><h2>{context.host.theme.labels.neighbours}</h2><ul>{render_items(links)}\n  </ul></aside>"
