"""The well-behaved pages of a host: front page, sections, tags, articles and others."""

from __future__ import annotations

from random import Random

from tenax.demo import Answer
from tenax.demo.host_site import (
    ARTICLES_PER_LISTING,
    Article,
    build_host_site,
    listing_path,
    listing_paths,
    page_paths,
    section_articles,
    tag_articles,
    tag_path,
)
from tenax.demo.prose import fill_template, format_date, write_article, write_paragraph
from tenax.demo.render import (
    PageContent,
    PageContext,
    render_items,
    render_link,
    render_page,
    render_paragraphs,
    render_teaser,
)

FRONT_TEASERS = 12
RELATED_ARTICLES = 6
FOREIGN_LINKS = 3


def ordinary_page(context: PageContext, path: str) -> Answer | None:
    """The page at this path; None when there is none."""
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
    """A page outside of the sections: generated text, `extra` HTML, and links to articles."""
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
    return render_page(context, PageContent(article.path, article.title, body, article.lead, kind, article))


def _render_aside(context: PageContext, title: str, articles: tuple[Article, ...]) -> str:
    links = render_items(render_link(article.path, article.title) for article in articles)
    return f"\n  <aside><h2>{title}</h2><ul>{links}\n  </ul></aside>"


def _render_foreign_links(context: PageContext, rng: Random) -> str:
    """Links to articles of other hosts. Never to listings: one found first at a great depth would hide its articles."""
    others = [index for index in range(context.site.hosts) if index != context.host.index]
    links = []
    for index in rng.sample(others, min(FOREIGN_LINKS, len(others))):
        other = build_host_site(context.site, index)
        article = rng.choice(other.articles)
        links.append(render_link(context.origins[index] + article.path, f"{other.name}: {article.title}"))
    return f"\n  <aside><h2>{context.host.theme.labels.neighbours}</h2><ul>{render_items(links)}\n  </ul></aside>"
