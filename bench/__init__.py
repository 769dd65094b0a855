"""Benchmarks and soak tests: modules with a `main`, run by `scripts/bench` and `scripts/soak`.

`report` has the common output (tables, bars, the last line of JSON), `measure` the cost of a command. Benchmark `NAME`
is `bench/NAME.py`, soak test `NAME` is `bench/soak_NAME.py`.
"""
