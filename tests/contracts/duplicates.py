"""Contract of every database about duplicates, a suite that each backend must pass.

A backend's test class gives it databases, by `opened`, that find duplicates by the `alike` of the test.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest

from tenax.clock import ManualClock
from tenax.config import DuplicatesConfig
from tenax.database import Admission, Database, PageFilter
from tenax.database.duplicates import MAX_PAGES_PER_KEY
from tenax.model import PageLink
from tenax.text import fingerprint
from tests.contracts.database import FixedPace, Opened, candidate, claimed, drain, page_of, visit_of
from tests.contracts.stored_copies import life_of

A, B, C, D = (f"https://{name}.test/1" for name in "abcd")


class Alike:
    """Fingerprints like those of pages, and rules that tests can change."""

    def __init__(self) -> None:
        self.wanted = DuplicatesConfig()
        self.compared = 0
        self.bands = fingerprint.fingerprint_bands

    def rules(self, origin: str) -> DuplicatesConfig:
        return self.wanted

    def similarity(self, one: bytes, other: bytes) -> float:
        self.compared += 1
        return fingerprint.fingerprint_similarity(one, other)


def story(seed: str, words: int = 200) -> str:
    """A unique text."""
    return " ".join(sha256(f"{seed} {number}".encode()).hexdigest()[:6] for number in range(words))


def edited(text: str) -> str:
    """Nearly the same text: every fiftieth word differs."""
    return " ".join("edited" if index % 50 == 7 else word for index, word in enumerate(text.split()))


def of_text(text: str, *, is_article: bool = True) -> dict[str, object]:
    """The fields of a page with this text."""
    return {
        "text": text,
        "content_hash": fingerprint.content_hash(text),
        "article": text if is_article else "",
        "markdown": text if is_article else "",
        "words": len(text.split()) if is_article else 0,
        "fingerprint": fingerprint.near_fingerprint(text) if is_article else b"",
    }


async def brought(database: Database, clock: ManualClock, url: str, text: str, **fields: object) -> Admission:
    """Visit a new page; it links to `…/link`."""
    await database.admit([candidate(url)])
    return await brought_again(database, clock, text, **fields)


async def brought_again(database: Database, clock: ManualClock, text: str, **fields: object) -> Admission:
    claim = await claimed(database)
    page = page_of(claim, clock, **of_text(text), **fields)
    links = (candidate(claim.task.url + "/link", due=clock.now() + 1e6),)
    admission = await database.commit(visit_of(claim, clock, page=page, candidates=links))
    clock.advance(60)
    return admission


async def originals(database: Database) -> dict[str, str | None]:
    """Every page, and its original if it is a duplicate."""
    return {page.url: page.duplicate_of async for page in database.pages(PageFilter())}


class DuplicatesContract:
    """Inherited by each backend's test class."""

    async def test_a_duplicate_with_the_same_text(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        text = story("one")
        assert (await brought(database, clock, A, text)).duplicate_of is None
        admission = await brought(database, clock, B, text)
        assert admission == Admission(admitted=1, duplicate_of=A, similarity=1.0)
        for page in [(await life_of(database, B)).page, (await database.events(1, 10))[0].page]:
            assert page is not None
            assert (page.duplicate_of, page.similarity, page.text) == (A, 1.0, text)
        assert await originals(database) == {A: None, B: A}
        assert (database.counts().duplicates, (await database.status()).duplicates) == (1, 1)

    async def test_a_duplicate_with_nearly_the_same_text(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await brought(database, clock, A, story("one"))
        await brought(database, clock, B, edited(story("one")))
        page = (await life_of(database, B)).page
        assert page is not None and page.duplicate_of == A
        assert 0.7 < page.similarity < 1.0

    async def test_no_duplicates_are_unlike_texts(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        for url, seed in ((A, "one"), (B, "two"), (C, "three")):
            await brought(database, clock, url, story(seed))
        assert await originals(database) == {A: None, B: None, C: None}
        assert database.counts().duplicates == 0

    async def test_as_like_as_is_asked_for_are_duplicates(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        database = await opened()
        alike.wanted = DuplicatesConfig(min_similarity=0.99)
        await brought(database, clock, A, story("one"))
        await brought(database, clock, B, edited(story("one")))
        await brought(database, clock, C, story("one"))
        assert await originals(database) == {A: None, B: None, C: A}

    @pytest.mark.parametrize(("words", "is_article"), [(29, True), (200, False)])
    async def test_short_texts_and_those_without_an_article_are_duplicates_only_when_equal(
        self, opened: Opened, clock: ManualClock, words: int, is_article: bool
    ) -> None:
        database = await opened()
        text = story("one", words)
        for url, said in ((A, text), (B, edited(text)), (C, text)):
            await database.admit([candidate(url)])
            claim = await claimed(database)
            page = page_of(claim, clock, **of_text(said, is_article=is_article))
            await database.commit(visit_of(claim, clock, page=page))
        assert await originals(database) == {A: None, B: None, C: A}

    async def test_pages_without_text_are_no_duplicates(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await brought(database, clock, A, "")
        await brought(database, clock, B, "")
        assert await originals(database) == {A: None, B: None}

    async def test_a_duplicate_of_a_duplicate_leads_to_the_first(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        text = story("one")
        for url in (A, B, C):
            await brought(database, clock, url, text)
            text = edited(text)
        await database.close()
        database = await opened()
        await brought(database, clock, D, story("one"))
        assert await originals(database) == {A: None, B: A, C: A, D: A}

    async def test_duplicates_in_one_group(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(url) for url in (A, B, C, D)])
        claims = [await claimed(database) for _ in range(4)]
        texts = [story("one"), edited(story("one")), story("two"), story("two")]
        visits = [
            visit_of(claim, clock, page=page_of(claim, clock, **of_text(text)))
            for claim, text in zip(claims, texts, strict=True)
        ]
        admissions = await asyncio.gather(*map(database.commit, visits))
        first, _, third, _ = (claim.task.url for claim in claims)
        assert [admission.duplicate_of for admission in admissions] == [None, first, None, third]

    # -- handling of duplicates-------------------------------------------------------------------------------

    async def test_texts_of_duplicates_need_not_be_kept(self, opened: Opened, clock: ManualClock, alike: Alike) -> None:
        database = await opened()
        alike.wanted = DuplicatesConfig(store=False)
        links = (PageLink(D, "there"),)
        await brought(database, clock, A, story("one"), abstract="It begins")
        await brought(database, clock, B, story("one"), abstract="It begins", headline="One", links=links)
        event_page = (await database.events(0, 10))[1].page
        async for page in database.pages(PageFilter(url_glob=B)):
            for one in (page, event_page):
                assert (one.text, one.article, one.markdown) == ("", "", "")
                assert (one.headline, one.abstract, one.words, one.links) == ("One", "It begins", 200, links)
        first = (await life_of(database, A)).page
        assert first is not None and first.text == first.article == first.markdown == story("one")

    async def test_links_of_duplicates_need_not_be_followed(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        database = await opened()
        alike.wanted = DuplicatesConfig(follow=False)
        assert (await brought(database, clock, A, story("one"))).are_candidates_accepted
        admission = await brought(database, clock, B, story("one"))
        assert admission == Admission(duplicate_of=A, similarity=1.0, are_candidates_accepted=False)
        assert await database.url_history(B + "/link") is None
        (visit,) = (await life_of(database, B)).visits
        assert (visit.candidate_count, visit.refusals) == (0, {"duplicate": 1})
        assert (await database.status()).refusals == {"duplicate": 1}

    async def test_nothing_is_looked_for_unless_it_is_wanted(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        database = await opened()
        alike.wanted = DuplicatesConfig(find=False)
        await brought(database, clock, A, story("one"))
        alike.wanted = DuplicatesConfig()
        await brought(database, clock, B, story("one"))
        await brought(database, clock, C, story("one"))
        assert await originals(database) == {A: None, B: None, C: B}

    # -- pages that come again ----------------------------------------------------------------------------------

    async def test_a_page_that_changed_is_an_original_of_duplicates_no_more(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await brought(database, clock, A, story("one"))
        await database.start_recrawl(clock.now())
        await brought_again(database, clock, story("two"))
        await brought(database, clock, B, story("one"))
        await brought(database, clock, C, edited(story("two")))
        assert await originals(database) == {A: None, B: None, C: A}

    async def test_an_original_that_comes_again_the_same_is_no_duplicate_of_itself(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await brought(database, clock, A, story("one"))
        await database.start_recrawl(clock.now())
        await brought_again(database, clock, story("one"), title="Another")
        await brought(database, clock, B, story("one"))
        await database.start_recrawl(clock.now())
        await brought_again(database, clock, edited(story("one")))
        assert await originals(database) == {A: None, B: A}
        assert database.counts().duplicates == 1

    async def test_a_duplicate_whose_original_is_gone_becomes_one_and_makes_an_event(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        database = await opened()
        alike.wanted = DuplicatesConfig(store=False)
        await brought(database, clock, A, story("one"))
        await brought(database, clock, B, story("one"))
        await database.start_recrawl(clock.now())
        texts = {A: story("two"), B: story("one")}
        for _ in texts:
            claim = await claimed(database)
            page = page_of(claim, clock, **of_text(texts[claim.task.url]))
            await database.commit(visit_of(claim, clock, page=page))
        assert await originals(database) == {A: None, B: None}
        last = (await database.events(3, 10))[-1].page
        assert (last.url, last.duplicate_of, last.text) == (B, None, story("one"))
        assert database.counts().duplicates == 0

    async def test_a_duplicate_that_comes_again_the_same_makes_no_event(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        database = await opened()
        await brought(database, clock, A, story("one"))
        await brought(database, clock, B, story("one"))
        await database.start_recrawl(clock.now())
        for _ in range(2):
            await brought_again(database, clock, story("one"))
        assert len(await database.events(0, 10)) == 2
        assert (await originals(database), database.counts().duplicates) == ({A: None, B: A}, 1)

    async def test_a_page_that_became_a_duplicate_leaves_the_index(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await brought(database, clock, A, story("one"))
        await brought(database, clock, B, story("two"))
        await database.start_recrawl(clock.now())
        for _ in range(2):
            await brought_again(database, clock, story("one"))
        assert await originals(database) == {A: None, B: A}
        await brought(database, clock, C, story("two"))
        assert (await originals(database))[C] is None

    # -- bounds -------------------------------------------------------------------------------------------------

    async def test_a_band_that_many_share_makes_no_duplicate_dear(
        self, opened: Opened, clock: ManualClock, alike: Alike, pace_rules: FixedPace
    ) -> None:
        """Pages of one template: they share a band and no more, so none is a duplicate of another."""
        database = await opened()
        pace_rules.pace = 0.0
        template = fingerprint.near_fingerprint(story("template"))[:8]
        await database.admit([candidate(f"https://a.test/{number}") for number in range(3 * MAX_PAGES_PER_KEY)])
        for number in range(3 * MAX_PAGES_PER_KEY):
            claim = await claimed(database)
            fields = of_text(story(f"page {number}"))
            fields["fingerprint"] = template + fingerprint.near_fingerprint(story(f"page {number}"))[8:]
            alike.compared = 0
            await database.commit(visit_of(claim, clock, page=page_of(claim, clock, **fields), next_at=0.0))
            assert alike.compared == min(number, MAX_PAGES_PER_KEY)
        assert set((await originals(database)).values()) == {None}
        assert len(await drain(database, clock)) == 0

    # -- stored fields of a page ----------------------------------------------------------------------------------

    async def test_everything_that_was_read_is_kept(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        claim = await claimed(database)
        page = page_of(claim, clock, **READ)
        await database.commit(visit_of(claim, clock, page=page))
        kept = [(await life_of(database, A)).page, *[one async for one in database.pages(PageFilter())]]
        kept += [event.page for event in await database.events(0, 10)]
        assert kept == [page, page, page]

    async def test_new_metadata_of_the_same_text_makes_an_event(self, opened: Opened, clock: ManualClock) -> None:
        database = await opened()
        await database.admit([candidate(A)])
        claim = await claimed(database)
        await database.commit(visit_of(claim, clock))
        news: dict[str, object] = {}
        for name in ("headline", "authors", "published", "words"):
            clock.advance(60)
            await database.start_recrawl(clock.now())
            claim = await claimed(database)
            news[name] = READ[name]
            await database.commit(visit_of(claim, clock, page=page_of(claim, clock, **news)))
        assert len(await database.events(0, 10)) == 5


READ: dict[str, object] = {
    "headline": "Eine Schlagzeile",
    "language_confidence": 0.75,
    "authors": ("Ada Lovelace", "Ève «N»"),
    "published": "2026-11-16",
    "modified": "2026-11-16T08:00:00Z",
    "site_name": "The Site",
    "section": "News",
    "keywords": ("one", "two"),
    "image": "https://a.test/i.png",
    "article": "Grüße",
    "markdown": "# Grüße\n\n世界",
    "abstract": "It is said",
    "words": 77,
    "links": (PageLink(B, "anchor", "nofollow", True, True), PageLink(C)),
}
