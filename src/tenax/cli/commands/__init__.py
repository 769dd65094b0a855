"""One module per verb: its name, arguments and `run`."""
