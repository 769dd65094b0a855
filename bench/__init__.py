"""Benchmarks and long trials: each is a module with a `main`, run by `scripts/bench` and `scripts/soak`.

`report` holds what they share for people and machines (the table, the bars, the last line of JSON), `measure` the
cost of a command. A benchmark `NAME` is `bench/NAME.py`, a trial `NAME` is `bench/soak_NAME.py`.
"""
