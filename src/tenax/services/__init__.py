"""Services: long-running jobs that stand on the same fetching and the same manners as a crawl.

`page_fetcher` turns a queue of URLs into pages and events; `scheduler` fills such a queue.
"""
