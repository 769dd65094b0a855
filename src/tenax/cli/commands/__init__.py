"""Commands: one file per verb, each with its name, its arguments and `run`."""
