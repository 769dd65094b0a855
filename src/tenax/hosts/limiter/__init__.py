"""Rate limiters: decide who may send a request now, in one process or on one machine."""
