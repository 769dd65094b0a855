"""Real servers for the tests, the soak and the benchmarks: each on its own loopback port, in its own folder.

A server that cannot start fails what asked for it: nothing is skipped or mocked. `scripts/test` installs them.
"""
