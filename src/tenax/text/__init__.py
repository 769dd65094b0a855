"""Text from others: made safe to show and to store, and compared by fingerprints. Pure."""
