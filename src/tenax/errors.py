"""The tree of our own errors. A page that fails is an outcome, never one of these.

TenaxError                    something a person must know; its text is one line that says what to do
├── UsageError                the command line asks for something impossible
├── ConfigError               an unknown key or bad value; names the key and its source
│   └── ServerUnavailable     a configured server does not answer; it may later
├── NoSeedReachable           no seed's host could be found: a typo, or no network
├── DatabaseError             the database cannot be used
│   ├── DatabaseBusy          another process holds it
│   ├── DatabaseUnusable      corrupt, not ours, from a newer version, or not writable
│   │   └── DatabaseUnavailable  its server does not answer; it may later
│   ├── DatabaseNotFound      there is no crawl in that directory
│   ├── DatabaseLost          its file was deleted, moved or replaced while it was open
│   ├── DatabaseTimeout       it did not answer after several attempts
│   ├── LeaseLost             this visit's claim is void; its commit was refused
│   └── CommitUnknown         the connection was lost during this visit's commit, which was made once or not at all
├── NoPagesStored             a crawl ended, and none of its runs has stored a page
├── NetworkLost               the network was down for longer than `resilience.max_network_outage_seconds`
├── CrawlStalled              no visit ends, and neither network nor database is the reason
├── MemoryExceeded            the memory limit was exceeded; the run has ended cleanly
├── StorageFull               the disk is full; what was committed is safe
└── SinkError                 an output file cannot be written or was changed by another program
"""

from __future__ import annotations


class TenaxError(Exception):
    """The base of all errors that we raise on purpose. `exit_code` is the exit code of the program."""

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
