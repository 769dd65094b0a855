"""A crawler as small as can be, sharing no code with Tenax, to check what the demo site says about itself."""

from __future__ import annotations

import http.client
import re
import zlib
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

DROPPED_PARAMS = re.compile(r"utm_|sid$|fbclid$|gclid$")
TRAP = re.compile(r"year=20[4-9]\d|(/a/b){3}")
CAP_BYTES = 1024 * 1024


class Reader(HTMLParser):
    """The links and the robots words of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.robots = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}  # of two equal names the first one counts
        if tag == "meta" and values.get("name") == "robots":
            self.robots = values["content"]
        is_link = tag == "a" or (tag == "link" and values.get("rel") in ("canonical", "alternate"))
        if is_link and "href" in values and values.get("rel") != "nofollow":
            self.links.append(values["href"])


def normalized(base: str, href: str) -> str:
    parts = urlsplit(urljoin(base, href))
    query = urlencode(sorted(pair for pair in parse_qsl(parts.query) if not DROPPED_PARAMS.match(pair[0])))
    path = re.sub(r";jsessionid=.*", "", parts.path).replace("%76", "v") or "/"
    return f"{parts.scheme}://{parts.netloc}{path}" + (f"?{query}" if query else "")


def fetch(url: str) -> tuple[int, str, bytes]:
    """Status, Location and body; a body that is cut, bursts or is no HTML comes back empty."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        answer = connection.getresponse()
        body = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            body = zlib.decompressobj(wbits=31).decompress(body, CAP_BYTES)
        is_page = "text/html" in answer.headers.get("Content-Type", "") and not body.startswith(b"\x89PNG")
        return answer.status, answer.headers.get("Location", ""), body if is_page and len(body) < CAP_BYTES else b""
    except http.client.IncompleteRead:
        return 0, "", b""
    finally:
        connection.close()


def crawl(origins: tuple[str, ...]) -> dict[str, int]:
    """Every page stored, and how often it was stored, from the front page of the first host on."""
    robots = {origin: RobotFileParser(origin + "/robots.txt") for origin in origins}
    for rules in robots.values():
        rules.read()
    waiting, seen, stored = [origins[0] + "/"], {origins[0] + "/"}, dict[str, int]()
    while waiting:
        url = waiting.pop(0)
        for _ in range(3):
            status, location, body = fetch(url)
            if status not in (429, 500):
                break
        page = Reader(body.decode("latin-1"))
        if status == 200 and body and "noindex" not in page.robots:
            stored[url] = stored.get(url, 0) + 1
        for href in [location] if location else [] if "nofollow" in page.robots else page.links:
            link = normalized(url, href)
            origin = "{0.scheme}://{0.netloc}".format(urlsplit(link))
            if origin in robots and link not in seen and not TRAP.search(link) and robots[origin].can_fetch("*", link):
                seen.add(link)
                waiting.append(link)
    return stored
