"""Text that is shown or stored: secrets masked, control characters escaped. Pure."""
