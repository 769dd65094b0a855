from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tenax.demo import Site
from tests.e2e.program import INLINE, Demo, Ended, end_all, serving, tenax


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    end_all()


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Two well-behaved hosts that link to each other; shared by all tests."""
    with serving(Site(hosts=2, pages_per_host=30, behaviours="none"), tmp_path_factory.mktemp("calm") / "log") as demo:
        yield demo


@pytest.fixture(scope="session")
def rude(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Six hosts, each with its own bad behaviour."""
    with serving(Site(hosts=6, pages_per_host=24, behaviours="quick"), tmp_path_factory.mktemp("rude") / "log") as demo:
        yield demo


class Crawled(NamedTuple):
    """A crawl that came to its end."""

    demo: Demo
    out: Path
    first: Ended
    options: tuple[str, ...]


@pytest.fixture(scope="session")
def crawled(rude: Demo, tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A whole crawl of the rude hosts; tests ask it, and leave it as it is."""
    out = tmp_path_factory.mktemp("crawled") / "out"
    # Its hosts fail so often, and are crawled so quickly, that their retry budgets would be used up at once.
    options = (
        "--rate", "50", "--set", "fetch.retry_base_seconds=0.1", "--set", "hosts.budget_failures=1000", *INLINE
    )  # fmt: skip
    first = tenax("crawl", *rude.seeds, *options, "--dir", out)
    assert first.code == 0, first.err
    return Crawled(rude, out, first, options)
