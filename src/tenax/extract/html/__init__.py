"""From bytes to a tree: media type, charset, parser, DOM, head and links."""
