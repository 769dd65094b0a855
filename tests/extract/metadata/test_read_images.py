"""The image of a page."""

from __future__ import annotations

import pytest

from tenax.extract.html.dom import Dom
from tenax.extract.metadata.read import choose_image


@pytest.mark.parametrize(
    ("hrefs", "html", "image"),
    [
        ([], "", ""),
        ([" https://h/a.jpg "], "", "https://h/a.jpg"),
        (["https://h/logo.png", "/b.jpg"], "", "/b.jpg"),
        (["data:image/png;base64,AA", "javascript:x"], "", ""),
        ([], "<article><img src=/a.jpg></article>", "/a.jpg"),
        ([], "<img src=/a.jpg>", ""),
        ([], "<main><img src=/icon.png><img src=/s.jpg width=20><img src=/a.jpg width=800px></main>", "/a.jpg"),
        ([], "<figure><img src='data:image/gif;base64,R0' data-src=/late.jpg></figure>", "/late.jpg"),
        (["https://h/" + "x" * 5000], "", ""),
        ([], "<main><img src=/a.jpg width=" + "9" * 5000 + "></main>", "/a.jpg"),
    ],
)
def test_choose_image(hrefs: list[str], html: str, image: str) -> None:
    assert choose_image(hrefs, Dom(html)) == image
