"""Base of the crawl's values."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """A frozen value; fields at their default are left out when it is stored."""


class PageKind(StrEnum):
    """The type of a page."""

    ARTICLE = "article"
    HUB = "hub"
    """A list of other pages: a home page, a section, a search."""
    PRODUCT = "product"
    FORUM = "forum"
    DOCUMENTATION = "documentation"
    OTHER = "other"
