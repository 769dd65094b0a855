"""Text from others, made safe to show and to store. Pure."""
