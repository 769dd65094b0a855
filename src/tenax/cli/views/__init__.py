"""Views: what people see on a terminal, in a summary or in an exported file."""
