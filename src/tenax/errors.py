"""The tree of our own failures. A page that fails is an outcome, never one of these.

TenaxError                    something a person must know; its text is one line that says what to do
├── UsageError                the command line asks for something impossible
├── ConfigError               an unknown key or bad value; names the key and where it came from
│   └── ServerAway            a server that is named does not answer; it may do so later
├── NoSeedReachable           no seed's host could be found: a typo, or no network
├── DatabaseError               the database cannot serve us
│   ├── DatabaseBusy            another process holds it
│   ├── DatabaseUnusable        corrupt, not ours, from a newer version, or not writable
│   │   └── DatabaseAway        its server does not answer; it may do so later
│   ├── DatabaseMissing         there is no crawl in that directory
│   ├── DatabaseLost            its file was deleted, moved or replaced while it was open
│   ├── DatabaseSilent          it was asked again and again, and does not answer
│   ├── LeaseLost             this visit's claim is void; its commit was refused
│   └── CommitUnknown         the database went away during this visit's commit, which was made once or not at all
├── NothingStored             a crawl ended, and no run of it has stored a page
├── NetworkLost               the network stayed away for longer than we were told to wait
├── Stalled                   nothing moves, and neither network nor database is the reason
├── MemoryExceeded            more memory is used than was allowed; the run has ended cleanly
├── StorageFull               the disk is full; what was committed is safe
└── SinkError                 an output file cannot be written or is not what we left there
"""

from __future__ import annotations


class TenaxError(Exception):
    """Base of everything we raise on purpose; `exit_code` is what the program ends with."""

    exit_code = 1


class UsageError(TenaxError):
    exit_code = 2


class ConfigError(TenaxError):
    exit_code = 2


class ServerUnavailable(ConfigError):
    exit_code = 2


class NoSeedReachable(TenaxError):
    exit_code = 3


class DatabaseError(TenaxError):
    exit_code = 5


class DatabaseBusy(DatabaseError):
    exit_code = 4


class DatabaseUnusable(DatabaseError):
    exit_code = 5


class DatabaseUnavailable(DatabaseUnusable):
    exit_code = 5


class DatabaseNotFound(DatabaseError):
    exit_code = 2


class DatabaseLost(DatabaseError):
    exit_code = 13


class DatabaseTimeout(DatabaseError):
    exit_code = 9


class LeaseLost(DatabaseError):
    exit_code = 1


class CommitUnknown(DatabaseError):
    exit_code = 1


class StorageFull(TenaxError):
    exit_code = 6


class SinkError(TenaxError):
    exit_code = 7


class NetworkLost(TenaxError):
    exit_code = 8


class CrawlStalled(TenaxError):
    exit_code = 10


class NoPagesStored(TenaxError):
    exit_code = 11


class MemoryExceeded(TenaxError):
    exit_code = 12
