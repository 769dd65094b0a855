"""Text of others, made safe to show and to store. Pure."""
