"""Tenax, a web crawler. Programs use `tenax.Crawl`; `tenax.read` extracts one page.

Names are imported on first use, so `import tenax` is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenax.version import __version__

if TYPE_CHECKING:
    from tenax.config import Config
    from tenax.crawl.api import Crawl
    from tenax.crawl.single_page import read
    from tenax.errors import TenaxError
    from tenax.extract.document import Content
    from tenax.model import Ending, Page, Progress

_MODULES = {
    "Config": "tenax.config",
    "Content": "tenax.extract.document",
    "Crawl": "tenax.crawl.api",
    "Ending": "tenax.model",
    "Page": "tenax.model",
    "Progress": "tenax.model",
    "TenaxError": "tenax.errors",
    "read": "tenax.crawl.single_page",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tenax' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)


__all__ = ["Config", "Content", "Crawl", "Ending", "Page", "Progress", "TenaxError", "__version__", "read"]
