"""Long-running services that use the same fetching and politeness rules as a crawl.

`worker` crawls a shared database, `page_fetcher` turns a queue of URLs into pages and events, and `scheduler` fills
such a queue.
"""
