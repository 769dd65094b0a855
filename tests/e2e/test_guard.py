"""The guard at the edges: what a person typed is open, and nothing that a page leads to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.program import INLINE, Demo, in_one_process, status, tenax, together, urls

FAST = ("--rate", "0", *INLINE)


@pytest.mark.parametrize("opens_port", [False, True])
def test_a_loopback_address_behind_a_link_is_refused(calm: Demo, tmp_path: Path, opens_port: bool) -> None:
    """The first host is typed, the second is only linked to; with its port open to everyone it is still private."""
    port = calm.origins[0].rpartition(":")[2]
    ports = ("--set", f"guard.ports=80,443,{port}") if opens_port else ()
    before = len([request for request in calm.requests() if request.host == f"127.0.0.2:{port}"])
    done = tenax("crawl", calm.seeds[0], "--scope", "any", *FAST, *ports, "--dir", tmp_path)
    assert done.code == 0
    assert f"{calm.origins[0]} is not a public address; allowed because you typed it, this one origin only" in done.err
    assert all(url.startswith(calm.origins[0]) for url in urls(tmp_path))
    assert len([request for request in calm.requests() if request.host == f"127.0.0.2:{port}"]) == before
    counts = status(tmp_path)
    assert counts["outcomes"]["refused:guard"] > 0
    assert not counts.get("dead")
    with closing(sqlite3.connect(tmp_path / "tenax.db")) as db:
        [linked, *_] = [url for (url,) in db.execute("SELECT url FROM crawled_pages WHERE status = 'blocked'")]
    assert linked.startswith(calm.origins[1])
    explained = tenax("explain", linked, "--dir", tmp_path).out
    why = "127.0.0.2 is not a public address" if opens_port else f"port {port} is not allowed"
    assert f"Kept back by a setting, `guard`: {why}" in explained
    assert "as a link on" in explained


def test_a_private_address_behind_a_redirect_is_refused(rude: Demo, tmp_path: Path) -> None:
    """The clouds' metadata service, by a redirect of a typed seed and by one of a page below it."""
    seed, out = f"{rude.origins[5]}/cloud", tmp_path / "seed"
    page_out = tmp_path / "page"
    done = together(
        ("crawl", seed, *FAST, "--dir", out),
        ("crawl", f"{rude.origins[5]}/curiosities", "--max-depth", "1", "--scope", "any", *FAST, "--dir", page_out),
    )
    assert [one.code for one in done] == [11, 0]
    assert "Nothing could be stored." in done[0].out
    target = "http://169.254.169.254/latest/meta-data/"
    for explained in in_one_process(*(("explain", target, "--dir", where) for where in (out, page_out))):
        assert "Kept back by a setting, `guard`: 169.254.169.254 is not a public address." in explained
        assert f"by a redirect of {seed}" in explained
    assert target not in urls(page_out)


def test_explain_says_beforehand_what_the_guard_would(calm: Demo, tmp_path: Path) -> None:
    tenax("crawl", calm.seeds[0], "--scope", "any", *FAST, "--max-pages", "1", "--dir", tmp_path)
    asked = ("http://10.0.0.1/", "http://localhost/", "http://[::1]/", "http://2130706433/")
    for explained in in_one_process(*(("explain", url, "--dir", tmp_path) for url in asked)):
        assert "refused by the SSRF guard, because the address is private" in " ".join(explained.split())
