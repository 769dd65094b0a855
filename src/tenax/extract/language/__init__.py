"""Language detection: by script, then by common words."""
