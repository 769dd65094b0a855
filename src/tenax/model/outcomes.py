"""How a visit ended, and what happens to its task next."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from tenax.model.tasks import TransportKind, UrlList
from tenax.model.value import Value


class FailureKind(StrEnum):
    """Why a fetch gave no page. The class of the failure decides retries, rests and dead letters."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    RESET = "reset"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_HEADERS = "timeout_headers"
    TIMEOUT_BODY = "timeout_body"
    TIMEOUT_TOTAL = "timeout_total"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    BAD_RESPONSE = "bad_response"
    SERVER_ERROR = "server_error"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    NOT_FOUND = "not_found"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    NOT_MODIFIED = "not_modified"
    """304 for a page that we do not hold; to be asked for again, without conditions."""
    REDIRECT = "redirect"
    """A loop, too many hops, or a Location that leads nowhere we may go."""
    UNREADABLE = "unreadable"
    """It costs too much to read, or ends the process that reads it. Trying again would give the same."""
    PROXY = "proxy"
    """A proxy did not bring us to the host, which has heard nothing of us: no fault of the host, nor of the URL."""
    INTERNAL = "internal"
    """We broke on this page; the crawl goes on."""


AddressClass: TypeAlias = Literal["", "public", "allowed", "typed"]
"""What kind of address was connected to: a public one, one of an allowed network, or that of a typed seed."""
Validation: TypeAlias = Literal["", "valid", "soft", "hard"]


class FetchRecord(Value, frozen=True):
    """The measurements of one fetch, kept with the visit."""

    status: int | None = None
    content_type: str | None = None
    wire_bytes: int = 0
    body_bytes: int = 0
    ttfb_seconds: float = 0.0
    total_seconds: float = 0.0
    protocol: str = ""
    """`HTTP/1.1`, `HTTP/2`."""
    transport: TransportKind = TransportKind.HTTP
    address_class: AddressClass = ""
    proxy: str = ""
    """The proxy's name, without credentials."""
    is_unverified: bool = False
    """The certificate was not checked, by configuration."""
    saved_bytes: int = 0
    """What a 304 spared us."""
    charset_source: str = ""
    validation: Validation = ""
    evidence: str = ""
    """What the validation saw, when it was not content."""
    headers: dict[str, str] = {}
    """Of the answer, names in lower case; bounded, and secrets masked."""
    error_body: str = ""
    """The beginning of what came with a 4xx or 5xx, where that is kept."""

    @property
    def download_seconds(self) -> float:
        return max(self.total_seconds - self.ttfb_seconds, 0.0)

    @property
    def kilobytes_per_second(self) -> float | None:
        """Of the body on the wire; None when it came too fast to tell."""
        seconds = self.download_seconds
        return self.wire_bytes / 1000 / seconds if seconds > 0.0005 else None


class Fetched(Value, frozen=True, tag="fetched"):
    """The page came whole."""

    status: int
    url_list: UrlList = ""
    """What it was, when it was no page but a list of URLs."""


class Unchanged(Value, frozen=True, tag="unchanged"):
    """What we hold stands: the site said so (304), or it is young enough not to ask."""

    why: str = ""
    """Empty for a 304."""


class Redirected(Value, frozen=True, tag="redirected"):
    """The URL points elsewhere; the target is a task of its own, on its own host and turn."""

    status: int
    to: str
    why: str = ""
    """When the target is not followed: the reason."""


class Deferred(Value, frozen=True, tag="deferred"):
    """Not now: the task goes back with a time on it."""

    until: float
    why: str


class Refused(Value, frozen=True, tag="refused"):
    """We may not or will not fetch it: robots, guard, scope."""

    why: str


class Rejected(Value, frozen=True, tag="rejected"):
    """It answered, but what it sent is not a page we keep."""

    why: str
    is_hard: bool = False


class Failed(Value, frozen=True, tag="failed"):
    """No usable answer."""

    why: str
    kind: FailureKind
    is_site_wide: bool = False
    """True: the host's trouble, not this URL's; it does not spend the task's attempts."""
    status: int | None = None
    retry_after_seconds: float | None = None


Outcome: TypeAlias = Fetched | Unchanged | Redirected | Deferred | Refused | Rejected | Failed


def outcome_label(outcome: Outcome) -> str:
    """A short name for counting: `fetched`, `failed:dns`, `refused:robots`. Reasons begin with one word and a colon."""
    match outcome:
        case Failed(kind=kind):
            return f"failed:{kind}"
        case Refused(why=why):
            return f"refused:{why.partition(':')[0]}"
        case Rejected(why=why):
            return f"rejected:{why.partition(':')[0]}"
        case _:
            return type(outcome).__name__.lower()


# ---- what happens to the task next ------------------------------------------------------------------------


class Done(Value, frozen=True, tag="done"):
    """The task is settled."""


class Reschedule(Value, frozen=True, tag="again"):
    """Visit it again from this time on."""

    at: float
    spends_attempt: bool = False
    transport: TransportKind | None = None
    """Visit it this way then."""
    is_unconditional: bool = False
    """Ask for the whole page then."""
    why: str = ""
    """For what went well, and is to be kept up with: why then. Its attempts begin anew."""


NEEDS_BROWSER: Final = "needs a browser"
"""How the cause of a dead letter begins that only waits for a run with a browser."""


class DeadLetter(Value, frozen=True, tag="dead_letter"):
    """Given up, kept with its cause; a person may replay it."""

    cause: str

    @property
    def needs_browser(self) -> bool:
        """Whether it was put aside for want of a browser: a run that has one replays it."""
        return self.cause.startswith(NEEDS_BROWSER)


class Park(Value, frozen=True, tag="park"):
    """Not fetched because of a setting of this run. It waits, without a time, for a run whose settings allow it."""

    cause: str
    """Begins with one word and a colon: `guard`, `rules`, `redirect`, `facets`, `robots`."""


Plan: TypeAlias = Done | Reschedule | DeadLetter | Park
