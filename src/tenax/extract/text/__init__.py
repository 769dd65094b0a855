"""Visible text and fingerprints."""
