"""Real servers for the tests, the soak and the benchmarks: each on a loopback port of its own, in a folder of its own.

A server that cannot start fails what asked for it: nothing is skipped, nothing is played. `scripts/test` installs them.
"""
