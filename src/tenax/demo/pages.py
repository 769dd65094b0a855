"""The well-behaved pages of a host: front page, sections, tags, articles and what stands beside them."""

from __future__ import annotations

from random import Random

from tenax.demo import Answer
from tenax.demo.host_site import (
    PER_LISTING,
    Article,
    listing_path,
    listing_paths,
    pages_of,
    place_of,
    section_articles,
    tag_articles,
    tag_path,
)
from tenax.demo.prose import date_line, paragraph, say, story
from tenax.demo.render import Sheet, Stage, items, link, page, paragraphs, teaser

FRONT_TEASERS = 12
RELATED = 6
FOREIGN = 3


def ordinary_page(stage: Stage, path: str) -> Answer | None:
    """The page at this path; None when there is none."""
    if path not in pages_of(stage.site, stage.place.index):
        return None
    if path == "/":
        return _front(stage)
    if path == "/tags/":
        return _tag_index(stage)
    if path.startswith("/tags/"):
        return _tag(stage, path)
    if path in ("/about", "/contact", "/join", "/privacy"):
        title: str = getattr(stage.place.theme.labels, path[1:])
        return loose_page(stage, path, title)
    return _in_section(stage, path)


def loose_page(stage: Stage, path: str, title: str, extra: str = "", head: str = "", query: str = "") -> Answer:
    """A page outside of the sections: some prose, what it has to say (`extra`, HTML), and some articles."""
    theme, dice = stage.place.theme, stage.place.dice(path)
    prose = paragraphs(story(theme, say(theme, theme.leads, dice), dice))
    body = prose + extra + _aside(stage, theme.labels.latest, stage.place.articles[:RELATED])
    description = say(theme, theme.leads, dice)
    return page(stage, Sheet(path, title, body, description, head=head, query=query))


def _front(stage: Stage) -> Answer:
    theme, dice = stage.place.theme, stage.place.dice("/")
    teasers = "".join(teaser(stage.place, article) for article in stage.place.articles[:FRONT_TEASERS])
    body = paragraphs([paragraph(theme, dice)]) + f"\n  <h2>{theme.labels.latest}</h2>" + teasers
    return page(stage, Sheet("/", stage.place.tagline, body + _foreign(stage, dice), stage.place.tagline))


def _tag_index(stage: Stage) -> Answer:
    theme, dice = stage.place.theme, stage.place.dice("/tags/")
    parts = []
    for number, tag in enumerate(theme.tags):
        newest = items(link(article.path, article.title) for article in tag_articles(stage.place, number)[:4])
        parts.append(
            f"\n  <h2>{link(tag_path(theme, number), tag.title)}</h2>"
            + paragraphs([paragraph(theme, dice)])
            + f"\n  <ul>{newest}\n  </ul>"
        )
    return page(stage, Sheet("/tags/", theme.labels.tags, "".join(parts)))


def _tag(stage: Stage, path: str) -> Answer:
    theme, dice = stage.place.theme, stage.place.dice(path)
    number = next(number for number in range(len(theme.tags)) if tag_path(theme, number) == path)
    teasers = "".join(teaser(stage.place, article) for article in tag_articles(stage.place, number))
    body = paragraphs([paragraph(theme, dice), paragraph(theme, dice)]) + teasers
    return page(stage, Sheet(path, theme.tags[number].title, body))


def _in_section(stage: Stage, path: str) -> Answer:
    theme = stage.place.theme
    head = path.split("/")[1]
    section = next(number for number, heading in enumerate(theme.sections) if heading.path == head)
    paths = listing_paths(stage.place, section)
    if path in paths:
        return _listing(stage, section, paths.index(path) + 1, paths)
    articles = section_articles(stage.place, section)
    position = next(place for place, article in enumerate(articles) if article.path == path)
    return _article(stage, articles, position)


def _listing(stage: Stage, section: int, number: int, paths: list[str]) -> Answer:
    """One page of a section. It links to all the others, so that none is further than two links from the front."""
    theme, labels = stage.place.theme, stage.place.theme.labels
    heading, path = theme.sections[section], paths[number - 1]
    shown = section_articles(stage.place, section)[(number - 1) * PER_LISTING : number * PER_LISTING]
    dice = stage.place.dice(path)
    intro = paragraphs([paragraph(theme, dice), paragraph(theme, dice)])
    pager = f'\n  <ul class="pages">{items(link(other, str(place)) for place, other in enumerate(paths, 1))}\n  </ul>'
    title = heading.title if number == 1 else f"{heading.title}, {labels.page} {number}"
    body = intro + "".join(teaser(stage.place, article) for article in shown) + pager
    return page(stage, Sheet(path, title, body + _foreign(stage, dice)))


def _article(stage: Stage, articles: tuple[Article, ...], position: int) -> Answer:
    article, theme, labels = articles[position], stage.place.theme, stage.place.theme.labels
    dice = stage.place.dice(article.path)
    section = listing_path(theme, article.section, 1)
    crumbs = f"{link('/', labels.home)} › {link(section, theme.sections[article.section].title)}"
    byline = f"{labels.by} {article.author}, {date_line(theme, article.day)}"
    tags = items(link(tag_path(theme, tag), theme.tags[tag].title, ' rel="tag"') for tag in article.tags)
    later, earlier = articles[position - 1], articles[(position + 1) % len(articles)]
    body = f"""
  <p class="crumbs">{crumbs}</p>
  <article>
  <p class="byline">{byline}</p>{paragraphs(story(theme, article.lead, dice))}
  </article>
  <ul>{tags}
  </ul>
  <p>{labels.previous}: {link(earlier.path, earlier.title)} · {labels.next}: {link(later.path, later.title)}</p>"""
    related = dice.sample(articles, min(RELATED, len(articles)))
    body += _aside(stage, labels.related, tuple(related)) + _foreign(stage, dice)
    kind = "product" if theme.schema == "Product" else "article"
    return page(stage, Sheet(article.path, article.title, body, article.lead, kind, article))


def _aside(stage: Stage, title: str, articles: tuple[Article, ...]) -> str:
    links = items(link(article.path, article.title) for article in articles)
    return f"\n  <aside><h2>{title}</h2><ul>{links}\n  </ul></aside>"


def _foreign(stage: Stage, dice: Random) -> str:
    """Links to articles of other hosts. To articles only: a listing found deep, by chance, would hide what it lists."""
    others = [index for index in range(stage.site.hosts) if index != stage.place.index]
    links = []
    for index in dice.sample(others, min(FOREIGN, len(others))):
        other = place_of(stage.site, index)
        article = dice.choice(other.articles)
        links.append(link(stage.origins[index] + article.path, f"{other.name}: {article.title}"))
    return f"\n  <aside><h2>{stage.place.theme.labels.neighbours}</h2><ul>{items(links)}\n  </ul></aside>"
