"""Checks the program's answers about a crawl against a model of the site.

Some facts depend on the order of visits: which links are beyond a limit, and the depth of a page. For these the
program's own answers are the premises, and their consequences must hold: every URL that a visited page names is
admitted, refused by a rule or cut off by a limit; every admitted URL was named by something visited; and the log of the
server agrees.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from bench.soak_honest_answers import Answer, Ending, Snapshot
from bench.soak_honest_plan import Rules
from bench.soak_honest_rules import (
    LINKS_PER_PAGE,
    LIST,
    NOT_LOOKED_FOR,
    REDIRECT,
    Limits,
    Mention,
    expected,
    is_disallowed,
    mentions,
    refusal,
    unfollowed,
)  # fmt: skip
from bench.soak_honest_server import Request
from bench.soak_honest_site import GUESSES, Kind, Site, origin_of, path_of

ATTEMPTS = 3
"""Of a URL that answers 500 each time."""
MOST_RESETS = 20
"""In one run, of a URL that closes the connection each time: its host may be taken for broken, but not for ever."""
SEEDS_ADD_UP = True
"""A run with another seed in the same directory adds it to those of the runs before, and so to the scope."""


@dataclass(frozen=True)
class Violation:
    kind: str
    """The promise that was broken, in a few words."""
    url: str
    text: str


NEVER_ASKED = ("waiting", "refused")
"""Admitted, but not asked for: a later run may ask for it the first time."""


@dataclass
class Judge:
    """Looks at one crawl after each of its runs."""

    site: Site
    universe: Sequence[str]
    """Every URL that is asked about."""
    rules: list[Rules] = field(default_factory=list)
    log: list[Request] = field(default_factory=list)
    before: Snapshot | None = None
    kills: int = 0
    kept_back: dict[str, str] = field(default_factory=dict)
    """Why a URL that something names was not admitted, after an earlier run."""
    cut_at: dict[tuple[str, str], int] = field(default_factory=dict)
    """By page and URL: the highest limit of links that has cut this URL off there."""
    is_something_left: bool = False
    """After the last run that ended by itself."""
    counted: Counter[str] = field(default_factory=Counter)
    """Checked answers by state."""

    @property
    def seeds(self) -> tuple[str, ...]:
        """Those that the scope goes by now."""
        return self._seeds_of(len(self.rules))

    @property
    def typed(self) -> set[str]:
        return {seed for rules in self.rules for seed in rules.seeds}

    def _seeds_of(self, runs: int) -> tuple[str, ...]:
        """Those that the scope went by after so many runs."""
        considered = self.rules[:runs] if SEEDS_ADD_UP else self.rules[runs - 1 : runs]
        return tuple(dict.fromkeys(seed for rules in considered for seed in rules.seeds))

    def killed(self, rules: Rules, snapshot: Snapshot | None, requests: Sequence[Request]) -> list[Violation]:
        """After a run that was killed only this holds: nothing is asked for again that was settled."""
        self.rules.append(rules)
        found = [*self._again(requests)]
        self.kills += 1
        self.log += requests
        self.before = snapshot or self.before
        return found

    def ended(self, rules: Rules, snapshot: Snapshot, requests: Sequence[Request], ending: Ending) -> list[Violation]:
        """After a run that ended by itself."""
        self.rules.append(rules)
        found = [*self._again(requests)]
        self.log += requests
        named, limits = self._named(snapshot)
        cut, missing = [], []
        for url in self.universe:
            answer = snapshot.answers[url]
            self.counted[answer.state] += 1
            if answer.is_admitted:
                found += self._admitted(answer, named[url], ending)
                continue
            by_rule, by_limit, must = self._kept_back(answer, named[url], limits)
            found += self._not_admitted(answer, by_rule, by_limit, must)
            pages = {one.via for one in named[url]}
            if answer.state == "cut_off" and not pages & {*answer.cut_off_via}:
                found.append(Violation("cut off where nothing names it", url, ", ".join(answer.cut_off_via)))
            if must:
                missing.append(url)
            elif (by_limit or self._is_too_deep(url, by_rule)) and not self._is_known_to_be_closed(url):
                cut.append(url)
            if reason := next(iter(sorted(by_limit or by_rule)), ""):
                self.kept_back[url] = reason
        if len({(*one.seeds, one.scope, one.include, one.exclude, one.max_depth) for one in self.rules}) == 1:
            found += [Violation(kind, url, text) for kind, url, text in limits.troubles()]
        found += self._unlinked(snapshot, named)
        found += self._guarded(snapshot)
        found += self._files(snapshot)
        found += self._ending(snapshot, ending, cut, missing, requests)
        self.before = snapshot
        return found

    # -- one URL ----------------------------------------------------------------------------------------------

    def _named(self, snapshot: Snapshot) -> tuple[dict[str, list[Mention]], Limits]:
        asked = {origin_of(one.url) for one in self.log if path_of(one.url) == "/robots.txt"}
        found = [*mentions(self.site, self.rules[-1], self.seeds, snapshot.answers, asked)]
        named = defaultdict(list)
        for one in found:
            named[one.url].append(one)
        return named, Limits(self.site, self.rules[-1], self.seeds, snapshot.answers, found)

    def _kept_back(
        self, answer: Answer, named: Sequence[Mention], limits: Limits
    ) -> tuple[set[str], set[str], list[Mention]]:
        """Rules that refuse a URL wherever it is named, limits that may have cut it off, and mentions that nothing
        keeps from being followed."""
        by_rule: set[str] = set()
        by_limit: set[str] = set()
        must = []
        for one in named:
            rule = self._refusal(one, len(self.rules))
            if rule:
                by_rule.add(rule)
            elif over := limits.of(one) or self._is_still_cut(answer, one):
                by_limit |= over
                if LINKS_PER_PAGE in over:
                    before = self.cut_at.get((one.via, one.url), 0)
                    self.cut_at[one.via, one.url] = max(before, self.rules[-1].links_per_page)
            else:
                must.append(one)
        return by_rule, by_limit, must

    def _is_still_cut(self, answer: Answer, one: Mention) -> set[str]:
        """Narrower rules may leave a page fewer links than the limit. What it cut off before may stay so until it is
        raised, as long as that is said."""
        before = self.cut_at.get((one.via, one.url), 0)
        is_said = answer.state == "cut_off" and answer.detail == LINKS_PER_PAGE
        return {LINKS_PER_PAGE} if is_said and self.rules[-1].links_per_page <= before else set()

    def _refusal(self, one: Mention, run: int) -> str:
        """By the rules of that run, the first is 1. A list is no page: what matters is whether such are looked for."""
        rules = self.rules[run - 1]
        if one.how != LIST:
            is_entry = one.how == REDIRECT and one.depth == 0
            return refusal(self.site, rules, self._seeds_of(run), one.url, one.depth, is_entry=is_entry)
        return "" if ("feeds" if one.is_feed else "sitemaps") in rules.discover else NOT_LOOKED_FOR

    def _not_admitted(
        self, answer: Answer, by_rule: set[str], by_limit: set[str], must: Sequence[Mention]
    ) -> Iterator[Violation]:
        url, said = answer.url, f"{answer.state} {answer.detail}".strip()
        if url in self.typed:
            yield Violation("a seed was not admitted", url, said)
        elif must:
            before = self.kept_back.get(url)
            kind = f"not brought back: {before}" if before else "lost"
            yield Violation(kind, url, f"{must[0].via} names it ({must[0].how}), every rule lets it pass; said: {said}")
        elif by_limit:
            if answer.state != "cut_off" or not by_limit & set(answer.detail.split(",")):
                limits = " or ".join(sorted(by_limit))
                yield Violation(f"cut off without a word: {limits}", url, f"said: {said}: {answer.headline}")
            elif not by_limit & set(_settings_in(answer.headline)):
                yield Violation("the headline names no limit", url, answer.headline)
        elif by_rule - {NOT_LOOKED_FOR}:
            if answer.state != "refused" or answer.detail not in by_rule:
                rules = " or ".join(sorted(by_rule))
                yield Violation(f"refused without a word: {rules}", url, f"said: {said}: {answer.headline}")
        elif answer.state == "refused":
            rule = refusal(self.site, self.rules[-1], self.seeds, url, 1)
            if answer.detail != rule:
                yield Violation("a rule is named that does not refuse it", url, f"said: {said}, not {rule or 'none'}")
        elif answer.state != "never":
            yield Violation("nothing names it", url, f"said: {said}")

    def _admitted(self, answer: Answer, named: Sequence[Mention], ending: Ending) -> Iterator[Violation]:
        url, said = answer.url, f"{answer.state} {answer.detail}".strip()
        is_guess = path_of(url) in GUESSES and url not in self.site.resources
        if url not in self.typed and not is_guess:
            yield from self._unjustified(answer, named)
        if answer.state == "waiting" and answer.says_due_now and answer.backoff_seconds > 1:
            yield Violation("“due now” is false", url, f"its host rests for {answer.backoff_seconds:.0f} s")
        if answer.state == "waiting":
            if answer.due is None:
                yield Violation("it waits, nobody knows until when", url, answer.headline)
            if ending.name == "patience" and not self._is_troubled(url):
                yield Violation("it waits for nothing", url, answer.headline)
            elif ending.name not in ("patience", "page_limit"):
                yield Violation(f"{ending.name} is said while it waits", url, answer.headline)
            return
        later = refusal(self.site, self.rules[-1], self.seeds, url, answer.depth)
        if answer.state == "refused" and answer.detail == later:
            return  # it waited, and the rules have become narrower
        wanted = expected(self.site, url, was_guarded=self._was_guarded(url))
        if not any(answer.state == state and detail in ("*", answer.detail) for state, detail in wanted):
            one = " or ".join(f"{state} {detail}".strip() for state, detail in wanted)
            yield Violation("it became something else", url, f"said: {said}, not {one}")
        if answer.state == "stored" and not any(one.url == url and one.status == 200 for one in self.log):
            yield Violation("stored, but never asked for", url, answer.headline)
        if one_ := self.site.resources.get(url):
            yield from self._redirect(answer, one_.to) if answer.state == "redirected" else ()

    def _was_guarded(self, url: str) -> bool:
        """Whether the guard was closed to its host in some run: nobody had typed a seed there until then."""
        typed: set[str] = set()
        for rules in self.rules:
            typed |= {origin_of(seed) for seed in rules.seeds}
            if not rules.is_guard_open and origin_of(url) not in typed:
                return True
        return False

    def _unjustified(self, answer: Answer, named: Sequence[Mention]) -> Iterator[Violation]:
        """Something visited names it, and the rules of some run let it pass; it is as deep as that says."""
        if not named and self._was_named(answer.url):
            return
        runs = range(1, len(self.rules) + 1)
        passed = [one for one in named for run in runs if not self._refusal(one, run)]
        if not passed:
            yield Violation("admitted against the rules", answer.url, f"{answer.state}, found by {answer.via}")
        elif answer.source in ("link", "redirect") and answer.depth not in {one.depth for one in passed}:
            yield Violation("its depth is wrong", answer.url, f"{answer.depth}, found by {answer.via}")

    def _was_named(self, url: str) -> bool:
        """A redirect that was given up has named its target all the same, and so has a robots.txt that was read when
        the scope was another."""
        by_redirect = any(one.to == url for one in self.site.resources.values())
        return by_redirect or any(url in host.sitemaps for host in self.site.hosts)

    def _redirect(self, answer: Answer, to: str) -> Iterator[Violation]:
        runs = range(1, len(self.rules) + 1)
        passed = [not self._refusal(Mention(answer.url, to, REDIRECT, answer.depth), run) for run in runs]
        if (answer.detail and all(passed)) or (not answer.detail and not any(passed)):
            text = f"to {to}, not followed: {answer.detail or 'no'}"
            yield Violation("the redirect's end is wrong", answer.url, text)

    def _is_troubled(self, url: str) -> bool:
        """Whether its host backs off: it is down, or one of its URLs closes connections."""
        host = self.site.host_of(url)
        resets = {origin_of(one.url) for one in self.site.resources.values() if one.kind is Kind.RESET}
        return host is not None and (host.is_dead or host.origin in resets)

    def _unlinked(self, snapshot: Snapshot, named: dict[str, list[Mention]]) -> Iterator[Violation]:
        marked = unfollowed(self.site, snapshot.answers)
        for url in self.universe:
            answer = snapshot.answers[url]
            if answer.says_unlinked and (named[url] or url in marked):
                by = named[url][0].via if named[url] else f"{marked[url]} (nofollow)"
                yield Violation("“no stored page links to it” is false", url, f"{by} names it: {answer.headline}")

    def _guarded(self, snapshot: Snapshot) -> Iterator[Violation]:
        for url in self.universe if all(rules.is_guard_open for rules in self.rules) else ():
            answer = snapshot.answers[url]
            if answer.says_guarded and self.site.host_of(url) is not None:
                yield Violation("the guard is named, and it is open", url, answer.headline)

    # -- the whole crawl --------------------------------------------------------------------------------------

    def _again(self, requests: Sequence[Request]) -> Iterator[Violation]:
        """Nothing that was settled is asked for again, and within a run nothing twice that came well."""
        settled = (
            {url for url, one in self.before.answers.items() if one.is_admitted and one.state not in NEVER_ASKED}
            if (self.before)
            else set[str]()
        )
        robots = {one.url for one in self.log if path_of(one.url) == "/robots.txt"} if not self.kills else set[str]()
        for one in requests:
            if one.method != "HEAD" and (one.url in settled or one.url in robots):
                yield Violation("asked for again", one.url, f"{one.method} {one.status}")
            if one.url not in self.universe and path_of(one.url) != "/robots.txt":
                yield Violation("a URL that nobody named was asked for", one.url, f"{one.method} {one.status}")
        for (method, url, status), count in Counter((one.method, one.url, one.status) for one in requests).items():
            most = {500: ATTEMPTS, 0: MOST_RESETS}.get(status, 1)
            if method != "HEAD" and count > most:
                kind = "asked for too often" if status else "asked for without end"
                yield Violation(kind, url, f"{count} times {status} in one run")

    def _files(self, snapshot: Snapshot) -> Iterator[Violation]:
        """The database's counts and `pages.jsonl` say the same as the answers."""
        stored = {url for url, answer in snapshot.answers.items() if answer.state == "stored"}
        waiting = sum(answer.state == "waiting" for answer in snapshot.answers.values())
        for url, count in Counter(url for url, _ in snapshot.lines).items():
            if count > 1:
                yield Violation("stored twice in pages.jsonl", url, f"{count} lines")
        for url in stored ^ {url for url, _ in snapshot.lines}:
            yield Violation("pages.jsonl differs", url, "stored, not in it" if url in stored else "in it, not stored")
        if (snapshot.pages, snapshot.waiting) != (len(stored), waiting):
            text = f"{snapshot.pages} pages and {snapshot.waiting} waiting; explained: {len(stored)} and {waiting}"
            yield Violation("status differs", "", text)
        for url, one in self.site.resources.items():
            if one.text_of and {url, one.text_of} <= stored:
                pair = (snapshot.answers[url], snapshot.answers[one.text_of])
                if not any(answer.duplicate_of for answer in pair):
                    yield Violation("a duplicate was not found", url, f"has the text of {one.text_of}")

    def _is_too_deep(self, url: str, by_rule: Collection[str]) -> bool:
        """A page that only its depth keeps out: that is a limit, too."""
        return "depth" in by_rule and url not in self.site.traps

    def _is_known_to_be_closed(self, url: str) -> bool:
        """By a robots.txt that was read: no limit keeps this URL out."""
        was_read = any(one.url == f"{origin_of(url)}/robots.txt" for one in self.log)
        return was_read and is_disallowed(self.site, url)

    def _ending(
        self,
        snapshot: Snapshot,
        ending: Ending,
        cut: Collection[str],
        missing: Collection[str],
        requests: Sequence[Request],
    ) -> Iterator[Violation]:
        waiting = [url for url, answer in snapshot.answers.items() if answer.state == "waiting"]
        stored = sum(answer.state == "stored" for answer in snapshot.answers.values())
        is_all = not (waiting or cut or missing)
        said = f"{ending.name}, exit {ending.exit_code}"
        if ending.exit_code != 0:
            yield Violation("the exit code is wrong", "", said)
        match ending.name:
            case "complete" if not is_all:
                text = f"{len(missing)} missing, {len(cut)} cut off, {len(waiting)} waiting"
                yield Violation("complete is said, and it is not", next(iter([*missing, *cut, *waiting])), text)
            case "limited" if not cut and not missing:
                yield Violation("limited is said, and nothing was cut off", "", ending.said)
            case "page_limit" if not waiting:
                yield Violation("the page limit is named, and nothing waits", "", f"{stored} pages, {said}")
            case "page_limit" if stored != max(self.rules[-1].max_pages, self.before.pages if self.before else 0):
                yield Violation("the page limit is not kept", "", f"{stored} pages, not {self.rules[-1].max_pages}")
            case "patience" if not waiting:
                yield Violation("it stopped, and nothing waits", "", said)
            case "nothing" | "unknown" | "interrupted":
                yield Violation("how it ended is not said", "", f"{said}: {ending.said[-300:]}")
        if ending.began_complete and (not is_all or requests):
            text = f"said at the start; {len(requests)} requests followed, and {said} at the end"
            yield Violation("“this crawl is complete” was false", "", text)
        self.is_something_left = not is_all
        if ending.name == "limited":
            details = (snapshot.answers[url].detail for url in cut)
            named = {"crawl.max_depth" if one == "depth" else one for text in details for one in text.split(",") if one}
            for limit in named - ending.limits:
                yield Violation("the summary does not name the limit", "", limit)


def _settings_in(text: str) -> list[str]:
    return [part for part in text.replace("`", " ").replace("(", " ").replace(")", " ").split() if "." in part]
