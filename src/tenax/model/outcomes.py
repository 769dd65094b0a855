"""How a visit ended, and what happens to its task next."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final, Literal, TypeAlias

from tenax.model.content import Value
from tenax.model.tasks import TransportKind, UrlList


class FailureKind(StrEnum):
    """Why a fetch gave no page. Retries, backoff and dead letters depend on the kind."""

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
    """A 304 without a stored copy. The page is requested again, without conditions."""
    REDIRECT = "redirect"
    """A loop, too many hops, or a Location that may not be followed."""
    UNREADABLE = "unreadable"
    """The page costs too much to extract, or crashes the reader process. A retry would have the same result."""
    PROXY = "proxy"
    """No proxy connected us to the host, which received nothing. Neither the host nor the URL is at fault."""
    INTERNAL = "internal"
    """Our code failed on this page. The crawl continues."""


AddressClass: TypeAlias = Literal["", "public", "allowed", "typed"]
"""The class of the connected address: public, in an allowed network, or of a seed that a person typed."""
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
    """The name of the proxy, without credentials."""
    is_unverified: bool = False
    """The certificate was not verified, because of a setting."""
    saved_bytes: int = 0
    """Bytes that a 304 saved."""
    charset_source: str = ""
    validation: Validation = ""
    evidence: str = ""
    """What validation saw, if the response was not a page."""
    headers: dict[str, str] = {}
    """Headers of the response, with names in lower case, limited in size, with secrets masked."""
    error_body: str = ""
    """The beginning of the body of a 4xx or 5xx response, if it is stored."""

    @property
    def download_seconds(self) -> float:
        return max(self.total_seconds - self.ttfb_seconds, 0.0)

    @property
    def kilobytes_per_second(self) -> float | None:
        """The speed of the body on the wire; None if it arrived too fast to measure."""
        seconds = self.download_seconds
        return self.wire_bytes / 1000 / seconds if seconds > 0.0005 else None


class Fetched(Value, frozen=True, tag="fetched"):
    """The page arrived completely."""

    label: ClassVar[str] = "fetched"
    """A short name for counting, like those of the other outcomes: `failed:dns`, `refused:robots`."""
    status: int
    url_list: UrlList = ""
    """The kind of URL list, if it was one and not a page."""


class Unchanged(Value, frozen=True, tag="unchanged"):
    """The stored copy is current: the site says so (304), or the copy is recent enough to be used without a request."""

    label: ClassVar[str] = "unchanged"
    why: str = ""
    """Empty for a 304."""


class Redirected(Value, frozen=True, tag="redirected"):
    """A redirect. Its target is a task of its own, with its own host and rate limit."""

    label: ClassVar[str] = "redirected"
    status: int
    to: str
    why: str = ""
    """Why the target is not followed."""


class Deferred(Value, frozen=True, tag="deferred"):
    """Not now. The task is scheduled for a later time."""

    label: ClassVar[str] = "deferred"
    until: float
    why: str


class Refused(Value, frozen=True, tag="refused"):
    """The URL may not be fetched: robots.txt, guard or scope."""

    why: str
    """Begins with one word and a colon, like the reason of `Rejected`."""

    @property
    def label(self) -> str:
        return f"refused:{self.why.partition(':')[0]}"


class Rejected(Value, frozen=True, tag="rejected"):
    """A response came, but it is not a page that is stored."""

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
    """The host failed, not this URL. No attempt of the task is used up."""
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
    """Visit the task again, from this time on."""

    at: float
    spends_attempt: bool = False
    transport: TransportKind | None = None
    """The transport of that visit."""
    is_unconditional: bool = False
    """Request the whole page in that visit."""
    why: str = ""
    """For a recrawl: why it is due at that time. Attempts are counted from zero again."""


NEEDS_BROWSER: Final = "needs a browser"
"""The cause of a dead letter begins with this if it waits for a run with a browser."""


class DeadLetter(Value, frozen=True, tag="dead_letter"):
    """The URL was given up and is stored with its cause. A person may replay it."""

    cause: str
    visit_if: str = ""
    """See `Park.visit_if`."""

    @property
    def needs_browser(self) -> bool:
        """Whether only a browser is missing. A run with a browser replays it."""
        return self.cause.startswith(NEEDS_BROWSER)


class Park(Value, frozen=True, tag="park"):
    """Not fetched because of a setting of this run. The task waits, without a time, for a run whose settings allow
    it."""

    cause: str
    """Begins with one word and a colon: `guard`, `rules`, `redirect`, `facets`, `series`, `robots`, `validation`."""
    visit_if: str = ""
    """Conditions, separated by spaces, such as `fetch.max_body_bytes>5000`. A run whose settings fulfil one of them
    visits the URL again. Empty: other settings would not help, or the cause says which ones."""


Plan: TypeAlias = Done | Reschedule | DeadLetter | Park
