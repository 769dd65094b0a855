"""A lab for each test, on the shared servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.kafka import KafkaBroker
from tests.services.lab import Lab


@pytest.fixture
def lab(redis: str, kafka: KafkaBroker) -> Iterator[Lab]:
    lab = Lab(redis, kafka)
    yield lab
    lab.redis.close()
