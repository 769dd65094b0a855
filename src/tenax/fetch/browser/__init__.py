"""The last way: Chromium, for pages that are nothing without their scripts. Needs the extra `browser`.

`transport` is asked for a page; `sessions` holds the browsers by the rules of `session_rules`; `chromium` starts one;
`rendering` watches over one page in it; `gate` is the only way out of it, and passes everything to the guard.
"""

from tenax.fetch.browser.chromium import browser_missing
from tenax.fetch.browser.transport import BrowserTransport

__all__ = ["BrowserTransport", "browser_missing"]
