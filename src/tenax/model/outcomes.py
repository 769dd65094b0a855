"""How a visit ended, and what happens to its task next."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal, TypeAlias

from tenax.model.content import Value
from tenax.model.tasks import TransportKind, UrlList


class FailureKind(StrEnum):
    """Why a fetch gave no page. The kind decides about retries, backoff and dead letters."""

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
    """304 without a stored copy; requested again, unconditionally."""
    REDIRECT = "redirect"
    """A loop, too many hops, or a Location that may not be followed."""
    UNREADABLE = "unreadable"
    """It costs too much to extract, or ends the reader process. A retry would have the same result."""
    PROXY = "proxy"
    """A proxy did not connect us to the host, which received nothing: the fault of neither host nor URL."""
    INTERNAL = "internal"
    """Our code failed on this page; the crawl continues."""


AddressClass: TypeAlias = Literal["", "public", "allowed", "typed"]
"""The class of the connected address: public, in an allowed network, or of a seed typed by a person."""
Validation: TypeAlias = Literal["", "valid", "soft", "hard"]


class FetchRecord(Value, frozen=True):
    """The measurements of one fetch, stored with the visit."""

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
    """Bytes saved by a 304."""
    charset_source: str = ""
    validation: Validation = ""
    evidence: str = ""
    """What validation saw, if it was not a page."""
    headers: dict[str, str] = {}
    """Of the response, names in lower case; size-limited, secrets masked."""
    error_body: str = ""
    """The beginning of the body of a 4xx or 5xx, if stored."""

    @property
    def download_seconds(self) -> float:
        return max(self.total_seconds - self.ttfb_seconds, 0.0)

    @property
    def kilobytes_per_second(self) -> float | None:
        """Of the body on the wire; None if it arrived too fast to measure."""
        seconds = self.download_seconds
        return self.wire_bytes / 1000 / seconds if seconds > 0.0005 else None


class Fetched(Value, frozen=True, tag="fetched"):
    """The page arrived completely."""

    label: ClassVar[str] = "fetched"
    """A short name for counting, like those of the other outcomes: `failed:dns`, `refused:robots`."""
    status: int
    url_list: UrlList = ""
    """What it was, if it was a URL list and not a page."""


class Unchanged(Value, frozen=True, tag="unchanged"):
    """The stored copy is current: the site said so (304), or it is recent enough to use without a request."""

    label: ClassVar[str] = "unchanged"
    why: str = ""
    """Empty for a 304."""


class Redirected(Value, frozen=True, tag="redirected"):
    """A redirect; the target is a task of its own, with its own host and rate limit."""

    label: ClassVar[str] = "redirected"
    status: int
    to: str
    why: str = ""
    """Why the target is not followed."""


class Deferred(Value, frozen=True, tag="deferred"):
    """Not now: the task goes back with a time."""

    label: ClassVar[str] = "deferred"
    until: float
    why: str


class Refused(Value, frozen=True, tag="refused"):
    """We may not or will not fetch it: robots, guard, scope."""

    why: str
    """Begins with one word and a colon, as does that of `Rejected`."""

    @property
    def label(self) -> str:
        return f"refused:{self.why.partition(':')[0]}"


class Rejected(Value, frozen=True, tag="rejected"):
    """It answered, but not with a page that we store."""

    why: str
    is_hard: bool = False

    @property
    def label(self) -> str:
        return f"rejected:{self.why.partition(':')[0]}"


class Failed(Value, frozen=True, tag="failed"):
    """No usable response."""

    why: str
    kind: FailureKind
    is_site_wide: bool = False
    """True: the host failed, not this URL; no attempt of the task is used up."""
    status: int | None = None
    retry_after_seconds: float | None = None

    @property
    def label(self) -> str:
        return f"failed:{self.kind}"


Outcome: TypeAlias = Fetched | Unchanged | Redirected | Deferred | Refused | Rejected | Failed


# ---- plans ------------------------------------------------------------------------------------------------


class Done(Value, frozen=True, tag="done"):
    """The task is settled."""


class Reschedule(Value, frozen=True, tag="again"):
    """Visit it again from this time on."""

    at: float
    spends_attempt: bool = False
    transport: TransportKind | None = None
    """Transport of that visit."""
    is_unconditional: bool = False
    """Request the whole page then."""
    why: str = ""
    """For a recrawl: why at that time. Attempts are counted from zero again."""


NEEDS_BROWSER: Final = "needs a browser"
"""How the cause of a dead letter begins that waits for a run with a browser."""


class DeadLetter(Value, frozen=True, tag="dead_letter"):
    """Given up, stored with its cause; a person may replay it."""

    cause: str

    @property
    def needs_browser(self) -> bool:
        """Whether only a browser is missing: a run with one replays it."""
        return self.cause.startswith(NEEDS_BROWSER)


class Park(Value, frozen=True, tag="park"):
    """Not fetched because of a setting of this run. It waits, without a time, for a run whose settings allow it."""

    cause: str
    """Begins with one word and a colon: `guard`, `rules`, `redirect`, `facets`, `robots`."""


Plan: TypeAlias = Done | Reschedule | DeadLetter | Park
