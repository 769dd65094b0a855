"""The last way: Chromium, for pages that are nothing without their scripts. Needs the extra `browser`.

`transport` is asked for a page; `sessions` holds the browsers by the rules of `session_rules`; `chromium` starts one in
a `folder` of its own; `rendering` watches over one page in it, through its `stages`, by the `page_rules`. `gate` is the
only way out of it: whoever has a `passage` is brought `upstream`, past the guard and by the site's proxy.

A failure of the browser itself is `INTERNAL` and site-wide: no host is blamed for it, and no URL.
"""

from tenax.fetch.browser.chromium import browser_install_hint
from tenax.fetch.browser.transport import BrowserTransport

__all__ = ["BrowserTransport", "browser_install_hint"]
