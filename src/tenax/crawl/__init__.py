"""A crawl: `library` holds `tenax.Crawl`, `engine` the loop, `reader` the processes that extract pages."""
