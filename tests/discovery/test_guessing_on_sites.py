"""What guessing finds and wastes on small sites, well-behaved or not."""

from __future__ import annotations

import msgspec
import pytest

from tenax.discovery.guesses import GuessLimits, VisitResult
from tests.discovery.little_sites import NOTHING, Crawl, Reply, Site, listing, page_number, stories, story

LISTS_ONLY = GuessLimits(with_archives=False)
ARCHIVES_ONLY = GuessLimits(with_lists=False)


def list_site(last: int, linked: int = 0, after: Reply = NOTHING, style: str = "?page=") -> Site:
    """A section with `last` pages; those up to `linked` are linked from each other. `after` comes then."""

    def site(relative_url: str) -> Reply:
        number = page_number(relative_url, "news", style)
        if number is None:
            return story(relative_url) or NOTHING
        if number > last:
            return after
        links = (f"/news{style}{other}" for other in range(2, linked + 1))
        return listing(*stories("news", number), *links)

    return site


def reached(crawl: Crawl, last: int) -> bool:
    return all(relative_url in crawl.order for page in range(1, last + 1) for relative_url in stories("news", page))


@pytest.mark.parametrize(
    ("site", "pages", "wasted"),
    [
        pytest.param(list_site(7), 7, ["/news?page=8"], id="seven pages, none linked"),
        pytest.param(list_site(7, linked=3), 7, ["/news?page=8"], id="seven pages, three linked"),
        pytest.param(list_site(7, linked=7), 7, ["/news?page=8"], id="seven pages, all linked"),
        pytest.param(list_site(1), 1, ["/news?page=2"], id="one page"),
        pytest.param(
            list_site(7, after=Reply(answer=VisitResult.REDIRECTED)),
            7,
            ["/news?page=8"],
            id="back to the first after the last",
        ),
        pytest.param(
            list_site(7, after=listing(text="there are no results")),
            7,
            ["/news?page=8"],
            id="an empty page after the last",
        ),
        pytest.param(
            list_site(7, after=listing(*stories("news", 7))),
            7,
            ["/news?page=8"],
            id="the last page again after the last",
        ),
        pytest.param(
            list_site(1, after=listing(*stories("news", 1))), 1, ["/news?page=2"], id="the number makes no difference"
        ),
        pytest.param(list_site(7, linked=3, style="/page/"), 7, ["/news/page/8"], id="numbers in the path"),
    ],
)
def test_a_list_is_followed_to_its_end_and_one_step_further(site: Site, pages: int, wasted: list[str]) -> None:
    crawl = Crawl(site, LISTS_ONLY).run("/news")
    assert reached(crawl, pages)
    assert crawl.wasted == wasted
    assert all(rule.state == "invalid" and rule.why for rule in crawl.guess_state.lists.values())


def test_entries_are_counted_by_their_step() -> None:
    def site(relative_url: str) -> Reply:
        number = page_number(relative_url, "news", "?start=")
        if number is None:
            return story(relative_url) or NOTHING
        start = 0 if number == 1 else number
        if start % 25 or start > 150:
            return NOTHING
        return listing(*stories("news", start), *(["/news?start=25"] if start == 0 else ["/news?start=0"]))

    crawl = Crawl(site, LISTS_ONLY).run("/news")
    assert crawl.guessed == [f"/news?start={start}" for start in (50, 75, 100, 125, 150, 175)]
    assert crawl.wasted == ["/news?start=175"]


def test_a_list_that_links_its_next_page_is_not_guessed() -> None:
    def endless(relative_url: str) -> Reply:
        number = page_number(relative_url, "news")
        if number is None:
            return story(relative_url) or NOTHING
        return listing(*stories("news", number), f"/news?page={min(number + 1, 300)}") if number < 300 else NOTHING

    assert not Crawl(endless, LISTS_ONLY).run("/news").guessed


def test_endless_pages_that_say_the_same_end_at_once() -> None:
    def endless(relative_url: str) -> Reply:
        number = page_number(relative_url, "news")
        if number is None:
            return story(relative_url) or NOTHING
        words = " ".join(f"word{each}" for each in range(200))
        return listing(*stories("news", number), text=f"{words} page {number}")

    crawl = Crawl(endless, LISTS_ONLY).run("/news")
    assert crawl.guessed == ["/news?page=2"]
    assert crawl.guess_state.lists["/news?page={n}"].why == "like the page before"


def test_endless_junk_ends_at_the_cap() -> None:
    limits = msgspec.structs.replace(LISTS_ONLY, lists=msgspec.structs.replace(LISTS_ONLY.lists, max_pages=20))
    crawl = Crawl(list_site(10**6), limits).run("/news")
    assert len(crawl.guessed) == 20
    assert crawl.guess_state.lists["/news?page={n}"].why == "as many pages as allowed"


def test_pages_of_what_is_known_end_after_a_few() -> None:
    """Each page has new links, but a sitemap has already listed them all."""
    crawl = Crawl(list_site(50), LISTS_ONLY)
    crawl.known |= {relative_url for page in range(1, 51) for relative_url in stories("news", page)}
    crawl.run("/news", *("/about",) * 200)
    assert crawl.guessed == ["/news?page=2", "/news?page=3", "/news?page=4"]
    assert crawl.guess_state.lists["/news?page={n}"].why == "nothing new on 3 pages in a row"


def test_a_style_that_never_works_is_given_up_after_three_lists() -> None:
    sections = [f"section-{letter}" for letter in "abcdefghijkl"]

    def site(relative_url: str) -> Reply:
        if relative_url == "/":
            return listing(*(f"/{section}" for section in sections))
        if relative_url.strip("/") in sections:
            return listing(*stories(relative_url.strip("/"), 1, 20))
        return story(relative_url) or NOTHING

    crawl = Crawl(site, LISTS_ONLY).run("/")
    assert len(crawl.order) > 200, "there is room for more guesses"
    assert len(crawl.guessed) == 3


def test_honest_lists_cost_little_and_one_that_hides_its_tail_is_found() -> None:
    sections = {f"section{letter}": 5 for letter in "abcdefghijklmnopqrstuvwxyz"} | {"zz": 12}

    def site(relative_url: str) -> Reply:
        if relative_url == "/":
            return listing(*(f"/{section}" for section in sections))
        for section, last in sections.items():
            number = page_number(relative_url, section)
            if number is not None:
                links = (f"/{section}?page={other}" for other in range(2, 6))
                return listing(*stories(section, number, 20), *links) if number <= last else NOTHING
        return story(relative_url) or NOTHING

    crawl = Crawl(site, LISTS_ONLY).run("/")
    assert all(relative_url in crawl.order for page in range(1, 13) for relative_url in stories("zz", page, 20))
    assert len(crawl.wasted) <= 0.015 * len(crawl.order)


def test_other_lists_of_a_host_are_taken_to_be_numbered_alike() -> None:
    def site(relative_url: str) -> Reply:
        for section, linked in (("news", 3), ("sport", 0)):
            number = page_number(relative_url, section, "/page/")
            if number is not None and number <= 6:
                return listing(
                    *stories(section, number), *(f"/{section}/page/{other}" for other in range(2, linked + 1))
                )
        return story(relative_url) or NOTHING

    crawl = Crawl(site, LISTS_ONLY).run("/news", "/sport")
    assert all(relative_url in crawl.order for page in range(1, 7) for relative_url in stories("sport", page))
    assert sorted(crawl.wasted) == ["/news/page/7", "/sport/page/7"]


def test_a_site_without_archives_gets_few_requests() -> None:
    crawl = Crawl(list_site(1), ARCHIVES_ONLY).run("/news", *("/about",) * 190)
    likely = ["/news/2026/01/", "/archive", "/2026/", "/news/2026/", "/2026/01/", "/2025/", "/news/2025/"]
    assert crawl.guessed == likely
    crawl.run(*("/about",) * 500)
    more = ["/archives", "/news/archive", "/sitemap"]
    assert crawl.guessed[len(likely) :] == more, "a larger site is asked for more"


def test_years_are_followed_back_until_they_end() -> None:
    def site(relative_url: str) -> Reply:
        year = int(relative_url.strip("/")) if relative_url.strip("/").isdigit() else 0
        return listing(*stories("news", year)) if 2019 <= year <= 2026 else story(relative_url) or NOTHING

    crawl = Crawl(site, ARCHIVES_ONLY).run(*("/about",) * 200)
    years = [relative_url for relative_url in crawl.guessed if relative_url.strip("/").isdigit()]
    assert years == [f"/{year}/" for year in range(2026, 2017, -1)], "one that is not there, and no more"
    assert crawl.guess_state.archives["/{yyyy}/"].worked == 8


def test_a_linked_month_teaches_the_others() -> None:
    def site(relative_url: str) -> Reply:
        if relative_url == "/":
            return listing("/blog/2025/11/", "/blog/2025/12/")
        parts = relative_url.strip("/").split("/")
        if len(parts) == 3 and parts[0] == "blog" and "2024/06" <= "/".join(parts[1:]) <= "2025/12":
            return listing(*stories("blog", int(parts[1] + parts[2])), "/blog/2025/11/", "/blog/2025/12/")
        return story(relative_url) or NOTHING

    crawl = Crawl(site, msgspec.structs.replace(ARCHIVES_ONLY, archives_below=0)).run("/")
    assert "/blog/2025/12/" not in crawl.guessed, "it is linked"
    assert crawl.guessed[0] == "/blog/2025/10/" and "/blog/2024/06/" in crawl.guessed
    assert crawl.wasted == ["/blog/2024/05/"], "after so many months in a row, the first without a page is the end"


def test_a_calendar_is_not_followed() -> None:
    def site(relative_url: str) -> Reply:
        if relative_url.startswith("/calendar/"):
            return (
                listing(*(f"{relative_url}entry-{letter}" for letter in "abc"))
                if relative_url.endswith("/")
                else Reply(text=relative_url)
            )
        return listing("/calendar/2026/02/") if relative_url == "/" else NOTHING

    crawl = Crawl(site, msgspec.structs.replace(GuessLimits(), archives_below=0)).run("/")
    assert not [relative_url for relative_url in crawl.guessed if "page" not in relative_url]


def test_a_site_that_says_the_same_to_everything_has_no_archives() -> None:
    def site(relative_url: str) -> Reply:
        if relative_url.startswith("/about"):
            return Reply(text=relative_url)
        return listing(f"{relative_url.rstrip('/')}/x-story-1", text="sorry, we could not find that")

    crawl = Crawl(lambda relative_url: story(relative_url) or site(relative_url), ARCHIVES_ONLY).run(*("/about",) * 300)
    assert len(crawl.guessed) <= 7, "as many as any host gets"
    assert sum(rule.state == "valid" for rule in crawl.guess_state.archives.values()) == 1, (
        "the first cannot be listing"
    )


def test_an_archive_that_is_linked_is_not_guessed() -> None:
    def site(relative_url: str) -> Reply:
        return (
            listing("/archive/", "/x-story-1") if relative_url in ("/", "/archive/") else story(relative_url) or NOTHING
        )

    crawl = Crawl(site, ARCHIVES_ONLY).run("/", "/archive/", *("/about",) * 300)
    assert "/2026/" in crawl.guessed and "/archive" not in crawl.guessed


def test_a_link_to_an_earlier_month_does_not_hide_the_answer_to_a_guess() -> None:
    """The guessed month links to earlier ones: the one before the earliest comes next."""
    linked = {"2025/12": "2025/11", "2025/10": "2025/07"}

    def site(relative_url: str) -> Reply:
        month = relative_url.removeprefix("/blog/").removesuffix("/")
        if relative_url.startswith("/blog/20") and "2025/05" <= month <= "2025/12":
            return listing(*stories("blog", int(month.replace("/", ""))), f"/blog/{linked.get(month, month)}/")
        return listing("/blog/2025/12/") if relative_url == "/" else story(relative_url) or NOTHING

    crawl = Crawl(site, msgspec.structs.replace(ARCHIVES_ONLY, archives_below=0)).run("/")
    assert crawl.guessed[:3] == ["/blog/2025/10/", "/blog/2025/06/", "/blog/2025/05/"]


def small_paper(years: str = "2025") -> Site:
    """110 pages, 20 stories of which are only in archives; its lists have pages that nothing links to."""

    def site(relative_url: str) -> Reply:
        sections = ("news", "sport", "culture")
        if relative_url == "/":
            return listing(*(f"/{section}" for section in sections))
        for section in sections:
            number = page_number(relative_url, section)
            if number is not None:
                return listing(*stories(section, number)) if number <= 3 else NOTHING
        archives = {"/archive": (1, 7), f"/{years}/": (8, 14), f"/news/{years}/": (15, 20)}
        if relative_url in archives:
            first, last = archives[relative_url]
            return listing(*(f"/news/old-story-{number}" for number in range(first, last + 1)))
        return story(relative_url) or NOTHING

    return site


@pytest.mark.parametrize("years", ["2026", "2025"], ids=["this year", "the year before"])
def test_lists_of_a_small_site_leave_budget_for_its_archives(years: str) -> None:
    crawl = Crawl(small_paper(years), GuessLimits(ratio=0.02)).run("/")
    assert 110 <= len(crawl.order) - len(crawl.wasted) <= 130
    assert {f"/news/old-story-{number}" for number in range(1, 21)} <= set(crawl.order)
    assert all(relative_url in crawl.order for section in ("news", "sport") for relative_url in stories(section, 3))
    assert len(crawl.wasted) <= 0.12 * len(crawl.order)


@pytest.mark.parametrize("relative_url", ["/archive", "/2025/", "/news/2025/", "/2026/01/", "/news/2026/01/"])
def test_each_likely_archive_is_within_the_reach_of_a_small_site(relative_url: str) -> None:
    """No other archive exists: all other guesses are misses."""

    def site(asked: str) -> Reply:
        if asked == relative_url:
            return listing(*(f"/news/old-story-{number}" for number in range(5)))
        if page_number(asked, "news") == 1:
            return listing(*stories("news", 1), *stories("sport", 1), *stories("culture", 1))
        return story(asked) or NOTHING

    crawl = Crawl(site, GuessLimits(ratio=0.02)).run("/news", *("/about",) * 30)
    assert "/news/old-story-0" in crawl.order


def test_months_are_looked_for_below_years_that_work() -> None:
    """The year shows only its last stories, each month all of its own; nothing links to the months."""

    def site(relative_url: str) -> Reply:
        if relative_url in ("/2025/", "/2024/"):
            return listing(f"/{relative_url.strip('/')}-story-9")
        parts = relative_url.strip("/").split("/")
        if len(parts) == 2 and parts[0] in ("2025", "2024") and parts[1].isdigit() and 1 <= int(parts[1]) <= 12:
            return listing(*(f"/{parts[0]}-story-{parts[1]}-{number}" for number in range(3)))
        return story(relative_url) or NOTHING

    crawl = Crawl(site, ARCHIVES_ONLY).run(*("/about",) * 200)
    months = [f"/{year}/{month:02}/" for year in (2025, 2024) for month in range(12, 0, -1)]
    assert [relative_url for relative_url in crawl.guessed if relative_url in months] == months
    assert all(f"/{month.strip('/').replace('/', '-story-')}-0" in crawl.order for month in months)


def test_an_archive_redirected_to_add_a_slash_counts_as_a_success() -> None:
    def site(relative_url: str) -> Reply:
        if relative_url == "/archive":
            return Reply(("/archive/",), answer=VisitResult.REDIRECTED)
        return listing(*stories("old", 1)) if relative_url == "/archive/" else story(relative_url) or NOTHING

    crawl = Crawl(site, ARCHIVES_ONLY).run(*("/about",) * 60)
    assert crawl.guess_state.archives["/archive"].state == "valid"
    assert crawl.guess_state.archives_succeeded == 1


def test_archives_are_looked_for_after_a_day_however_much_waits() -> None:
    """Many tasks always wait: only the interval makes archives due."""
    limits = msgspec.structs.replace(ARCHIVES_ONLY, archives_below=0)
    crawl = Crawl(list_site(1), limits).run("/news", *("/about",) * 100)
    assert not crawl.guessed
    crawl.now += 86_400
    crawl.run("/contact", *("/about",) * 20)
    assert crawl.guessed == ["/news/2026/01/", "/archive", "/2026/", "/news/2026/", "/2026/01/"], "more a day later"


def test_lists_without_numbers_wait_until_the_others_have_shown_theirs() -> None:
    def site(relative_url: str) -> Reply:
        if relative_url == "/":
            return listing("/sport", "/news")
        for section, linked in (("news", 3), ("sport", 0)):
            number = page_number(relative_url, section, "/page/")
            if number is not None and number <= 4:
                pages = (f"/{section}/page/{other}" for other in range(2, linked + 1))
                return listing(*stories(section, number), *pages)
        return story(relative_url) or NOTHING

    crawl = Crawl(site, LISTS_ONLY).run("/")
    assert all(relative_url in crawl.order for page in range(1, 5) for relative_url in stories("sport", page))
    assert sorted(crawl.wasted) == ["/news/page/5", "/sport/page/5"]


def test_with_guesses_off_lists_are_learned_but_nothing_is_requested() -> None:
    crawl = Crawl(list_site(7), msgspec.structs.replace(LISTS_ONLY, is_enabled=False)).run("/news")
    assert not crawl.guessed
    crawl.limits = LISTS_ONLY
    crawl.run("/about")
    assert reached(crawl, 7), "it was found to be a news site"
