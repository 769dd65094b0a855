"""What every ledger promises about pages that are there already, as a suite that any backend must pass.

A backend's test class gives it ledgers, by `opened`, that find duplicates by the `alike` of the test.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest

from tenax.clock import ManualClock
from tenax.config import DuplicatesConfig
from tenax.database import Admission, Ledger, PageFilter
from tenax.database.duplicates import MOST_HOLDERS
from tenax.extract.text import fingerprint
from tenax.model import PageLink
from tests.contracts.held_pages import life_of
from tests.contracts.ledger import Manners, Opened, claimed, drain, offer, page_of, visit_of

A, B, C, D = (f"https://{name}.test/1" for name in "abcd")


class Alike:
    """Fingerprints as pages have them, and rules to turn by hand."""

    def __init__(self) -> None:
        self.wanted = DuplicatesConfig()
        self.compared = 0
        self.bands = fingerprint.bands

    def rules(self, origin: str) -> DuplicatesConfig:
        return self.wanted

    def likeness(self, one: bytes, other: bytes) -> float:
        self.compared += 1
        return fingerprint.likeness(one, other)


def story(seed: str, words: int = 200) -> str:
    """A text like no other."""
    return " ".join(sha256(f"{seed} {number}".encode()).hexdigest()[:6] for number in range(words))


def edited(text: str) -> str:
    """Nearly the same: every fiftieth word is another."""
    return " ".join("edited" if place % 50 == 7 else word for place, word in enumerate(text.split()))


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


async def brought(ledger: Ledger, clock: ManualClock, url: str, text: str, **fields: object) -> Admission:
    """A page that was never there is visited; it links to `…/link`."""
    await ledger.admit([offer(url)])
    return await brought_again(ledger, clock, text, **fields)


async def brought_again(ledger: Ledger, clock: ManualClock, text: str, **fields: object) -> Admission:
    claim = await claimed(ledger)
    page = page_of(claim, clock, **of_text(text), **fields)
    links = (offer(claim.task.url + "/link", due=clock.now() + 1e6),)
    admission = await ledger.commit(visit_of(claim, clock, page=page, offers=links))
    clock.advance(60)
    return admission


async def originals(ledger: Ledger) -> dict[str, str | None]:
    """Every page, and what it is a duplicate of."""
    return {page.url: page.duplicate_of async for page in ledger.pages(PageFilter())}


class DuplicatesContract:
    """Inherited by each backend's test class."""

    async def test_a_duplicate_with_the_same_text(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        text = story("one")
        assert (await brought(ledger, clock, A, text)).duplicate_of is None
        admission = await brought(ledger, clock, B, text)
        assert admission == Admission(admitted=1, duplicate_of=A, likeness=1.0)
        for page in [(await life_of(ledger, B)).page, (await ledger.events(1, 10))[0].page]:
            assert page is not None
            assert (page.duplicate_of, page.likeness, page.text) == (A, 1.0, text)
        assert await originals(ledger) == {A: None, B: A}
        assert (ledger.counts().duplicates, (await ledger.status()).duplicates) == (1, 1)

    async def test_a_duplicate_with_nearly_the_same_text(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, story("one"))
        await brought(ledger, clock, B, edited(story("one")))
        page = (await life_of(ledger, B)).page
        assert page is not None and page.duplicate_of == A
        assert 0.7 < page.likeness < 1.0

    async def test_no_duplicates_are_unlike_texts(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        for url, seed in ((A, "one"), (B, "two"), (C, "three")):
            await brought(ledger, clock, url, story(seed))
        assert await originals(ledger) == {A: None, B: None, C: None}
        assert ledger.counts().duplicates == 0

    async def test_as_like_as_is_asked_for_are_duplicates(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        ledger = await opened()
        alike.wanted = DuplicatesConfig(likeness=0.99)
        await brought(ledger, clock, A, story("one"))
        await brought(ledger, clock, B, edited(story("one")))
        await brought(ledger, clock, C, story("one"))
        assert await originals(ledger) == {A: None, B: None, C: A}

    @pytest.mark.parametrize(("words", "is_article"), [(29, True), (200, False)])
    async def test_short_texts_and_those_without_an_article_are_duplicates_only_when_equal(
        self, opened: Opened, clock: ManualClock, words: int, is_article: bool
    ) -> None:
        ledger = await opened()
        text = story("one", words)
        for url, said in ((A, text), (B, edited(text)), (C, text)):
            await ledger.admit([offer(url)])
            claim = await claimed(ledger)
            page = page_of(claim, clock, **of_text(said, is_article=is_article))
            await ledger.commit(visit_of(claim, clock, page=page))
        assert await originals(ledger) == {A: None, B: None, C: A}

    async def test_pages_without_text_are_no_duplicates(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, "")
        await brought(ledger, clock, B, "")
        assert await originals(ledger) == {A: None, B: None}

    async def test_a_duplicate_of_a_duplicate_leads_to_the_first(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        text = story("one")
        for url in (A, B, C):
            await brought(ledger, clock, url, text)
            text = edited(text)
        await ledger.close()
        ledger = await opened()
        await brought(ledger, clock, D, story("one"))
        assert await originals(ledger) == {A: None, B: A, C: A, D: A}

    async def test_duplicates_in_one_group(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(url) for url in (A, B, C, D)])
        claims = [await claimed(ledger) for _ in range(4)]
        texts = [story("one"), edited(story("one")), story("two"), story("two")]
        visits = [
            visit_of(claim, clock, page=page_of(claim, clock, **of_text(text)))
            for claim, text in zip(claims, texts, strict=True)
        ]
        admissions = await asyncio.gather(*map(ledger.commit, visits))
        first, _, third, _ = (claim.task.url for claim in claims)
        assert [admission.duplicate_of for admission in admissions] == [None, first, None, third]

    # -- what becomes of them ---------------------------------------------------------------------------------

    async def test_texts_of_duplicates_need_not_be_kept(self, opened: Opened, clock: ManualClock, alike: Alike) -> None:
        ledger = await opened()
        alike.wanted = DuplicatesConfig(store=False)
        links = (PageLink(D, "there"),)
        await brought(ledger, clock, A, story("one"), abstract="It begins")
        await brought(ledger, clock, B, story("one"), abstract="It begins", headline="One", links=links)
        told = (await ledger.events(0, 10))[1].page
        async for page in ledger.pages(PageFilter(url_glob=B)):
            for one in (page, told):
                assert (one.text, one.article, one.markdown) == ("", "", "")
                assert (one.headline, one.abstract, one.words, one.links) == ("One", "It begins", 200, links)
        first = (await life_of(ledger, A)).page
        assert first is not None and first.text == first.article == first.markdown == story("one")

    async def test_links_of_duplicates_need_not_be_followed(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        ledger = await opened()
        alike.wanted = DuplicatesConfig(follow=False)
        assert (await brought(ledger, clock, A, story("one"))).are_offers_known
        admission = await brought(ledger, clock, B, story("one"))
        assert admission == Admission(duplicate_of=A, likeness=1.0, are_offers_known=False)
        assert await ledger.life(B + "/link") is None
        (visit,) = (await life_of(ledger, B)).visits
        assert (visit.offered, visit.refusals) == (0, {"duplicate": 1})
        assert (await ledger.status()).refusals == {"duplicate": 1}

    async def test_nothing_is_looked_for_unless_it_is_wanted(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        ledger = await opened()
        alike.wanted = DuplicatesConfig(find=False)
        await brought(ledger, clock, A, story("one"))
        alike.wanted = DuplicatesConfig()
        await brought(ledger, clock, B, story("one"))
        await brought(ledger, clock, C, story("one"))
        assert await originals(ledger) == {A: None, B: None, C: B}

    # -- pages that come again ----------------------------------------------------------------------------------

    async def test_a_page_that_changed_is_an_original_of_duplicates_no_more(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, story("one"))
        await ledger.revisit(clock.now())
        await brought_again(ledger, clock, story("two"))
        await brought(ledger, clock, B, story("one"))
        await brought(ledger, clock, C, edited(story("two")))
        assert await originals(ledger) == {A: None, B: None, C: A}

    async def test_an_original_that_comes_again_the_same_is_no_duplicate_of_itself(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, story("one"))
        await ledger.revisit(clock.now())
        await brought_again(ledger, clock, story("one"), title="Another")
        await brought(ledger, clock, B, story("one"))
        await ledger.revisit(clock.now())
        await brought_again(ledger, clock, edited(story("one")))
        assert await originals(ledger) == {A: None, B: A}
        assert ledger.counts().duplicates == 1

    async def test_a_duplicate_whose_original_is_gone_becomes_one_and_is_told(
        self, opened: Opened, clock: ManualClock, alike: Alike
    ) -> None:
        ledger = await opened()
        alike.wanted = DuplicatesConfig(store=False)
        await brought(ledger, clock, A, story("one"))
        await brought(ledger, clock, B, story("one"))
        await ledger.revisit(clock.now())
        texts = {A: story("two"), B: story("one")}
        for _ in texts:
            claim = await claimed(ledger)
            page = page_of(claim, clock, **of_text(texts[claim.task.url]))
            await ledger.commit(visit_of(claim, clock, page=page))
        assert await originals(ledger) == {A: None, B: None}
        last = (await ledger.events(3, 10))[-1].page
        assert (last.url, last.duplicate_of, last.text) == (B, None, story("one"))
        assert ledger.counts().duplicates == 0

    async def test_a_duplicate_that_comes_again_the_same_is_not_told_again(
        self, opened: Opened, clock: ManualClock
    ) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, story("one"))
        await brought(ledger, clock, B, story("one"))
        await ledger.revisit(clock.now())
        for _ in range(2):
            await brought_again(ledger, clock, story("one"))
        assert len(await ledger.events(0, 10)) == 2
        assert (await originals(ledger), ledger.counts().duplicates) == ({A: None, B: A}, 1)

    async def test_a_page_that_became_a_duplicate_leaves_the_index(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await brought(ledger, clock, A, story("one"))
        await brought(ledger, clock, B, story("two"))
        await ledger.revisit(clock.now())
        for _ in range(2):
            await brought_again(ledger, clock, story("one"))
        assert await originals(ledger) == {A: None, B: A}
        await brought(ledger, clock, C, story("two"))
        assert (await originals(ledger))[C] is None

    # -- bounds -------------------------------------------------------------------------------------------------

    async def test_a_band_that_many_share_makes_no_duplicate_dear(
        self, opened: Opened, clock: ManualClock, alike: Alike, manners: Manners
    ) -> None:
        """Pages of one template: they share a band and no more, so none is a duplicate of another."""
        ledger = await opened()
        manners.pace = 0.0
        template = fingerprint.near_fingerprint(story("template"))[:8]
        await ledger.admit([offer(f"https://a.test/{number}") for number in range(3 * MOST_HOLDERS)])
        for number in range(3 * MOST_HOLDERS):
            claim = await claimed(ledger)
            fields = of_text(story(f"page {number}"))
            fields["fingerprint"] = template + fingerprint.near_fingerprint(story(f"page {number}"))[8:]
            alike.compared = 0
            await ledger.commit(visit_of(claim, clock, page=page_of(claim, clock, **fields), next_at=0.0))
            assert alike.compared == min(number, MOST_HOLDERS)
        assert set((await originals(ledger)).values()) == {None}
        assert len(await drain(ledger, clock)) == 0

    # -- what is kept of a page -----------------------------------------------------------------------------------

    async def test_everything_that_was_read_is_kept(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        claim = await claimed(ledger)
        page = page_of(claim, clock, **READ)
        await ledger.commit(visit_of(claim, clock, page=page))
        kept = [(await life_of(ledger, A)).page, *[one async for one in ledger.pages(PageFilter())]]
        kept += [event.page for event in await ledger.events(0, 10)]
        assert kept == [page, page, page]

    async def test_what_is_read_anew_in_the_same_text_is_news(self, opened: Opened, clock: ManualClock) -> None:
        ledger = await opened()
        await ledger.admit([offer(A)])
        claim = await claimed(ledger)
        await ledger.commit(visit_of(claim, clock))
        news: dict[str, object] = {}
        for name in ("headline", "authors", "published", "words"):
            clock.advance(60)
            await ledger.revisit(clock.now())
            claim = await claimed(ledger)
            news[name] = READ[name]
            await ledger.commit(visit_of(claim, clock, page=page_of(claim, clock, **news)))
        assert len(await ledger.events(0, 10)) == 5


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
