"""Links of a page in columns, as the database packs them."""

from __future__ import annotations

from collections.abc import Sequence

from tenax.database.page_codec import LinkColumns
from tenax.model import IN_ARTICLE_LINK, NOFOLLOW_LINK, PageLink


def link_columns(links: Sequence[PageLink]) -> LinkColumns:
    return LinkColumns(
        [link.url or None for link in links],
        [link.text for link in links],
        [link.rel for link in links],
        "".join(str(NOFOLLOW_LINK * link.is_nofollow + IN_ARTICLE_LINK * link.is_in_article) for link in links),
    )
