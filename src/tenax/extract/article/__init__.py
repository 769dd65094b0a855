"""The article of a page: blocks of text, page layout, and the selection of blocks."""
