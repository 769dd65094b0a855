from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenax.config import UrlsConfig
from tenax.model import Budget
from tenax.urls.normalize import WebUrl, normalize, normalize_options
from tenax.urls.traps import find_trap, required_budgets

YEAR = 2026
CONFIG = UrlsConfig()


def web(text: str) -> WebUrl:
    url = normalize(text, "https://example.org/", normalize_options(CONFIG))
    assert url is not None
    return url


@pytest.mark.parametrize(
    ("href", "setting"),
    [
        ("/" + "a" * 2048, "max_length"),
        ("/?q=" + "ü" * 400, "max_length"),
        ("/x" + "/ab%20c" * 2000, "max_length"),
        ("/" + "/".join(f"s{number}" for number in range(21)), "max_path_segments"),
        ("/?" + "&".join(f"p{number}=1" for number in range(13)), "max_query_params"),
        # the path repeats itself
        ("/a/b/a/b/a/b", "max_repeated_segments"),
        ("/a/b/a/b/a/b/", "max_repeated_segments"),
        ("/x/a/b/a/b/a/b/y", "max_repeated_segments"),
        ("/a/a/a", "max_repeated_segments"),
        ("/en/news/images/images/images/x.html", "max_repeated_segments"),
        ("/a/b/c/a/b/c/a/b/c", "max_repeated_segments"),
        ("/2020/a/2020/a/2020/a", "max_repeated_segments"),
        ("/a////b", "max_repeated_segments"),
        ("/http://x.org/http://example.org/", "max_repeated_segments"),
        ("/https://x.org/http://example.org/https://x.org/", "max_repeated_segments"),
        # endless dates
        ("/calendar/2090/01", "calendar_years"),
        ("/calendar/2090", "calendar_years"),
        ("/calendar/2028/1/", "calendar_years"),
        ("/Calendar/month/2090-01/", "calendar_years"),
        ("/calendar/1823/01", "calendar_years"),
        ("/calendar/1969", "calendar_years"),
        ("/calendar.php?year=1823&month=1", "calendar_years"),
        ("/calendar?date=1823-01-01", "calendar_years"),
        ("/calendar?date=2090-01-01", "calendar_years"),
        ("/events/2090/01/", "calendar_years"),
        ("/events/month/2090-01/", "calendar_years"),
        ("/events/?tribe-bar-date=2090-01-01", "calendar_years"),
        ("/blog/2090/01/15/", "calendar_years"),
        ("/2090/01/", "calendar_years"),
        ("/blog/2090/01/", "calendar_years"),
        ("/x/2090-01-15", "calendar_years"),
        ("/x?year=2090", "calendar_years"),
        ("/x?Year=2028&month=2", "calendar_years"),
        ("/x?year=12345", "calendar_years"),
        ("/x?month=2090-01", "calendar_years"),
        ("/x?date=20900101", "calendar_years"),
        ("/x?a=1&start_date=2090-01-01&z=2", "calendar_years"),
        ("/x?week=2090-W05", "calendar_years"),
    ],
)
def test_a_trap_is_named_by_its_setting(href: str, setting: str) -> None:
    assert find_trap(web(href), CONFIG, YEAR) == setting


ORDINARY = [
    # news
    "https://www.bbc.co.uk/news/world-europe-68123456",
    "https://www.nytimes.com/1851/09/18/archives/a-word-about-ourselves.html",
    "https://www.nytimes.com/2026/01/31/us/politics/a-headline-of-many-words-about-politics-and-money.html",
    "https://www.theguardian.com/world/1998/dec/20/iraq.unitednations",
    "https://www.spiegel.de/ausland/größe-und-straße-a-0f1e2d3c-1111-2222-3333-444455556666",
    "https://www.lemonde.fr/archives/article/1998/02/12/titre_3648212_1819218.html",
    "https://edition.cnn.com/2026/12/31/business/new-year-2027-outlook/index.html",
    "https://www.reuters.com/world/2050-climate-goal-out-reach-un-says-2026-03-04/",
    "https://www.asahi.com/articles/ASS1234567.html?iref=comtop_7_01",
    "https://lenta.ru/news/2026/06/01/новости/",
    "https://example.com/news.php?id=20901231&lang=en",
    "https://example.com/2027/01/01/predictions-for-the-year",
    # encyclopaedias and archives
    "https://en.wikipedia.org/wiki/2090",
    "https://en.wikipedia.org/wiki/1066",
    "https://en.wikipedia.org/wiki/Solar_eclipse_of_September_23,_2090",
    "https://en.wikipedia.org/wiki/AC/DC",
    "https://en.wikipedia.org/w/index.php?title=Rome&action=history&offset=20200101000000&limit=500",
    "https://de.wikipedia.org/wiki/Straße_(Begriffsklärung)",
    "https://ja.wikipedia.org/wiki/メインページ",
    "https://web.archive.org/web/20100101000000/http://example.com/a/b",
    "https://web.archive.org/web/20200101/https://www.example.com/",
    "https://chroniclingamerica.loc.gov/lccn/sn83030214/1918-11-11/ed-1/seq-1/",
    "https://newspapers.example.org/search?date=1923-05-01&title=times",
    "https://history.example.org/on-this-day/1815/06/18",
    "https://genealogy.example.org/births?year=1850",
    "https://www.gutenberg.org/files/2090/2090-h/2090-h.htm",
    "https://arxiv.org/abs/2801.00001",
    "https://doi.org/10.1000/xyz123",
    # shops
    "https://www.amazon.com/Some-Long-Product-Title/dp/B000000000/ref=sr_1_1?keywords=a+b&qid=1700000000&sr=8-1",
    "https://www.ebay.com/itm/123456789012?hash=item1c2d3e4f5a:g:abc",
    "https://shop.example.com/product/2090/12",
    "https://shop.example.com/p/9999/",
    "https://shop.example.com/c/shoes?color=red&size=42&size=43&brand=a&brand=b&price=10-50&sort=price&page=3&view=grid",
    "https://www.ikea.com/de/de/p/billy-regal-weiss-00263850/",
    "https://store.steampowered.com/app/2090/Title/",
    "https://shop.example.com/search?q=screws+2090-01&year=all",
    "https://cars.example.com/used?year_from=1998&year_to=2026",
    "https://hotels.example.com/search?checkin=2026-12-30&checkout=2027-01-02&adults=2",
    # forums and social
    "https://news.ycombinator.com/item?id=40000000",
    "https://old.reddit.com/r/python/comments/abc123/a_title_of_a_post/def456/?context=3",
    "https://stackoverflow.com/questions/1234567/how-do-i-do-this/1234568#1234568",
    "https://forum.example.org/viewtopic.php?f=2090&t=3000&start=40",
    "https://forum.example.org/t/thread/2090/2091",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PL1234&index=2",
    "https://github.com/python/cpython/blob/main/Lib/test/test_email/test_email.py",
    "https://github.com/python/cpython/pull/2090/files",
    "https://medium.com/@someone/a-title-0a1b2c3d4e5f",
    "https://groups.example.com/g/list/c/abcdef/m/ghijkl",
    # documentation and code
    "https://docs.python.org/3/library/urllib.parse.html",
    "https://docs.oracle.com/javase/8/docs/api/java/util/concurrent/locks/package-summary.html",
    "https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/lang/String.html",
    "https://pkg.go.dev/golang.org/x/net@v0.1.0/html/html",
    "https://learn.microsoft.com/en-us/dotnet/api/system.string?view=net-8.0",
    "https://repo1.maven.org/maven2/org/example/example/1.0.0/example-1.0.0.pom",
    "https://www.rfc-editor.org/rfc/rfc3986",
    "https://api.example.com/v1/users/1/posts/1/comments/1",
    "https://tiles.example.com/0/0/0/x",
    "https://journal.example.com/article/1/1/1/",
    "https://example.com/en/en/about",
    "https://example.com/course/1/unit/1/lesson/1",
    # events and calendars of our time
    "https://example.com/calendar/2026/05/",
    "https://example.com/calendar/2027/12",
    "https://example.com/calendar/1998/01",
    "https://example.com/calendar/",
    "https://example.com/events/2090/summer-party",
    "https://example.com/event/9876/",
    "https://example.com/events/2026-05-01/",
    "https://example.com/agenda/2030-strategy",
    "https://example.com/vision-2050/",
    "https://example.com/reports?from=2020-01-01&to=9999-12-31",
    "https://example.com/?y=2090&x=10",
    "https://example.com/?year=0",
    "https://example.com/archive?date=1998-07-01",
    # governments, old servers, odd spellings
    "https://www.gov.uk/guidance/rates-and-thresholds-for-employers-2026-to-2027",
    "https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:32016R0679",
    "https://www.example.gov/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o",
    "http://www.example.edu/~smith/papers/1998/paper.ps.html",
    "http://example.com/cgi-bin/show.cgi?file=a;b=c",
    "https://example.com/a//b",
    "https://example.com///a",
    "https://example.com/redirect?url=https%3A%2F%2Fother.org%2Fa%3Fb%3Dc",
    "https://translate.example.com/https://example.org/a",
    "https://example.com/" + "a-very-long-slug-" * 20,
    "https://example.com/产品/型号/说明书?语言=中文",
    "http://127.0.0.1:8000/page/17",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_an_ordinary_url_is_no_trap(text: str) -> None:
    assert find_trap(web(text), CONFIG, YEAR) is None


def test_each_limit_is_the_last_that_passes() -> None:
    config = UrlsConfig(max_length=64, max_path_segments=3, max_repeated_segments=1, max_query_params=2)
    base = "https://example.org/"
    assert find_trap(web("a" * (64 - len(base))), config, YEAR) is None
    assert find_trap(web("a" * (65 - len(base))), config, YEAR) == "max_length"
    assert find_trap(web("/a/b/c/"), config, YEAR) is None
    assert find_trap(web("/a/b/c/d"), config, YEAR) == "max_path_segments"
    assert find_trap(web("/a/b/a"), config, YEAR) is None
    assert find_trap(web("/a/a"), config, YEAR) == "max_repeated_segments"
    assert find_trap(web("/?a&b"), config, YEAR) is None
    assert find_trap(web("/?a&b&c"), config, YEAR) == "max_query_params"
    assert find_trap(web("/?a"), UrlsConfig(max_query_params=0), YEAR) == "max_query_params"
    assert find_trap(web("/"), UrlsConfig(max_query_params=0), YEAR) is None
    assert find_trap(web("/?year=2027"), UrlsConfig(calendar_years=0), YEAR) == "calendar_years"
    assert find_trap(web("/?year=2036"), UrlsConfig(calendar_years=10), YEAR) is None


@given(st.text("/ab1?=&:-;%20", max_size=80), st.integers(0, 9999))
@settings(max_examples=300, deadline=None)
def test_any_url_gets_an_answer_that_names_a_setting(text: str, year: int) -> None:
    url = normalize("/" + text, "https://example.org/", normalize_options(CONFIG))
    if url is not None:
        setting = find_trap(url, CONFIG, year)
        assert setting is None or hasattr(CONFIG, setting)


def test_budgets() -> None:
    plain = web("https://example.org/a")
    faceted = web("https://shop.example.co.uk/list?color=red")
    assert required_budgets(plain, CONFIG, True) == ()
    assert required_budgets(plain, CONFIG, False) == (
        Budget("hosts_per_domain", "example.org", 1000, counts_hosts=True),
    )
    assert required_budgets(faceted, CONFIG, True) == (Budget("facets_per_path", "/list", 500),)
    assert required_budgets(faceted, UrlsConfig(facets_per_path=3, hosts_per_domain=4), False) == (
        Budget("facets_per_path", "/list", 3),
        Budget("hosts_per_domain", "example.co.uk", 4, counts_hosts=True),
    )
