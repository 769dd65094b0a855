"""The article of a page: blocks of text, page layout, and the selection of those that belong to the article."""
