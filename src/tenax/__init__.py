"""Tenax: a web crawler that holds fast. `tenax.Crawl` is the whole of it for a program, `tenax.read` reads one page.

Names are loaded when they are first used, so `import tenax` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenax.version import __version__

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.library import Crawl
    from tenax.crawl.single_page import read
    from tenax.errors import TenaxError
    from tenax.extract.document import Content
    from tenax.model import Ending, Page, Progress

_HOMES = {
    "Config": "tenax.config",
    "Crawl": "tenax.crawl.library",
    "Document": "tenax.extract.document",
    "Ending": "tenax.model",
    "Page": "tenax.model",
    "Progress": "tenax.model",
    "TenaxError": "tenax.errors",
    "read": "tenax.crawl.single_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tenax' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


__all__ = ["Config", "Content", "Crawl", "Ending", "Page", "Progress", "TenaxError", "__version__", "read"]
