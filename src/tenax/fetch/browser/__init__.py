"""The browser transport: Chromium, for pages that need JavaScript. Requires the extra `browser`.

`transport` renders a request; `sessions` manages the browsers by `rules`; `chromium` starts one in its own directory;
`rendering` controls one page in it through its `navigation`. `gate` is Chromium's only network connection: a request
with a secret of its session is connected `upstream`, through the guard and the site's proxy.

A failure of the browser itself is `INTERNAL` and site-wide: it counts against no host and no URL.
"""

from tenax.fetch.browser.chromium import browser_install_hint
from tenax.fetch.browser.transport import BrowserTransport

__all__ = ["BrowserTransport", "browser_install_hint"]
