"""What is taken from the queue: hosts that wait are skipped, each host's items stay in order, and all are taken in the
end."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tenax.services.page_fetcher.intake import HEAD_WINDOWS, WINDOW_SIZE, Intake, OriginCache

HEAD = HEAD_WINDOWS * WINDOW_SIZE


def urls(host: str, count: int, first: int = 0) -> list[bytes]:
    return [f"http://{host}.example/{number}".encode() for number in range(first, first + count)]


def look(intake: Intake, queue: list[bytes], room: Counter[str], most: int = 10**9) -> list[bytes]:
    """One scan, as the fetcher does it; what was taken leaves the queue and uses up room."""
    found: list[bytes] = []

    def room_of(origin: str) -> int:
        return room[origin.removeprefix("http://").removesuffix(".example")]

    for span in intake.scan_spans():
        first = span.first
        for _ in range(span.windows):
            length = len(queue)
            window = queue[first : first + WINDOW_SIZE]
            chosen = intake.select_items(window, span, room_of, most - len(found))
            for raw in chosen.items:
                del queue[queue.index(raw, first)]
                room[raw.split(b"/")[2].decode().removesuffix(".example")] -= 1
            found += chosen.items
            first += chosen.examined - len(chosen.items)
            intake.record_window(span, first, length, len(chosen.items))
            if len(found) >= most:
                return found
            if first >= len(queue):
                break
    return found


def test_it_looks_past_a_host_that_waits() -> None:
    intake, queue = Intake(), urls("dead", 3000) + urls("well", 5)
    assert look(intake, queue, Counter(well=100)) == urls("well", 5)
    assert queue == urls("dead", 3000), "and leaves the others where they are, in their order"
    ends = [intake.is_exhausted]
    assert look(intake, queue, Counter(well=100)) == []
    assert [*ends, intake.is_exhausted] == [False, True], "the first look took something"
    assert intake.skipped_hosts == {"http://dead.example"}


def test_what_lies_far_behind_is_found_bit_by_bit() -> None:
    intake, queue = Intake(), urls("dead", 3 * HEAD) + urls("well", 5) + urls("dead", HEAD, 3 * HEAD)
    found, looks = list[bytes](), 0
    while not found:
        found, looks = look(intake, queue, Counter(well=100)), looks + 1
        assert looks <= 4
    assert found == urls("well", 5)


def test_after_an_empty_scan_the_queue_is_scanned_step_by_step_until_a_host_is_back() -> None:
    intake, queue = Intake(), urls("dead", 4 * HEAD) + urls("back", 5) + urls("dead", HEAD, 4 * HEAD)
    ends = []
    for _ in range(6):
        assert look(intake, queue, Counter()) == []
        ends.append(intake.is_exhausted)
    assert ends == [False, False, False, True, True, True], "no hurry, once it is known"
    assert "http://back.example" in intake.skipped_hosts
    intake.resume_scan()
    found, hurried = list[bytes](), list[bool]()
    while not found and len(hurried) < 9:
        found = look(intake, queue, Counter(back=5))
        hurried.append(not intake.is_exhausted)
    assert found == urls("back", 5)
    assert all(hurried)


def test_what_arrives_at_the_end_is_found_at_once() -> None:
    intake, queue = Intake(), urls("dead", 10 * HEAD)
    look(intake, queue, Counter())
    queue += urls("new", 1)
    assert look(intake, queue, Counter(new=1)) == urls("new", 1)


def test_a_host_that_was_passed_over_is_not_overtaken_by_itself() -> None:
    intake, queue = Intake(), urls("a", 3) + urls("b", WINDOW_SIZE) + urls("a", 3, 3)
    assert look(intake, queue, Counter(a=2))[:2] == urls("a", 2)
    room = Counter(a=10)
    assert look(intake, queue, room) == urls("a", 4, 2)


def test_no_more_than_the_limit_is_taken_and_the_others_come_next() -> None:
    intake, queue = Intake(), urls("a", 10)
    assert look(intake, queue, Counter(a=100), most=4) == urls("a", 4)
    assert not intake.is_exhausted
    assert look(intake, queue, Counter(a=100)) == urls("a", 6, 4)


def test_an_item_that_is_no_url_is_taken_at_once() -> None:
    intake, queue = Intake(), [*urls("dead", 3), b"no url", b"\xff"]
    found = [intake.select_items(queue, span, lambda origin: 0, 10).items for span in intake.scan_spans()]
    assert found == [[b"no url", b"\xff"]]


@given(
    st.lists(st.sampled_from("abcd"), max_size=60).map("".join),
    st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5)), min_size=1, max_size=10),
    st.integers(1, 20),
)
def test_nothing_is_lost_and_every_host_keeps_its_order(hosts: str, rooms: list[dict[str, int]], most: int) -> None:
    everything = [f"http://{host}.example/{number}".encode() for number, host in enumerate(hosts)]
    intake, queue, found = Intake(), list(everything), list[bytes]()
    for room in rooms:
        found += look(intake, queue, Counter(room), most)
    found += look(intake, queue, Counter(dict.fromkeys("abcd", 100)))
    assert sorted(found) == sorted(everything)
    for host in "abcd":
        ours = [raw for raw in everything if raw.startswith(f"http://{host}.".encode())]
        assert [raw for raw in found if raw in ours] == ours


def test_origins_are_those_of_the_urls_themselves() -> None:
    origins = OriginCache()
    for raw, origin in {
        b"http://A.example:80/x": "http://a.example",
        b"http://a.example:80?x": "http://a.example",
        b"http://user:pw@b.example/x": "http://b.example",
        b"http:///c.example/x": "http://c.example",
        b"https://d.example:8443#x": "https://d.example:8443",
    }.items():
        assert [origins.find_origin(raw), origins.find_origin(raw)] == [origin, origin]
    assert origins.find_origin(b"http://") is None
