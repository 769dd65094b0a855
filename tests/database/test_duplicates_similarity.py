from __future__ import annotations

from tenax.config import Config, DuplicatesConfig, Sites
from tenax.database.duplicates import PageSimilarity
from tenax.text.fingerprint import BANDS, near_fingerprint

TEXT = "The harbour master lost her key on a morning in March, and nobody saw who found it by the old crane."


def test_pages_are_compared_by_their_fingerprints() -> None:
    found = PageSimilarity(Sites(Config()))
    one, other = near_fingerprint(TEXT), near_fingerprint("Something else altogether was told here, and by others.")
    assert len(found.bands(one)) == BANDS
    assert found.similarity(one, one) == 1.0
    assert found.similarity(one, other) < 0.5


def test_what_has_no_fingerprint_has_no_bands_and_is_like_nothing() -> None:
    found = PageSimilarity(Sites(Config()))
    assert found.bands(b"") == ()
    assert found.similarity(b"", near_fingerprint(TEXT)) == 0.0


def test_a_site_has_rules_of_its_own() -> None:
    found = PageSimilarity(Sites(Config(duplicates=DuplicatesConfig(find=False))))
    assert not found.rules("https://a.example").find
