"""The schedule: order within a host, fairness between hosts, paces, and no task lost."""

from __future__ import annotations

from collections import defaultdict

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tenax.database.schedule import (
    OLDEST_TASK_EVERY,
    RANKS,
    SPARE_HEAP_ENTRIES,
    Entry,
    Schedule,
    Slot,
    _find_oldest_position,
)
from tenax.model import HostRecord, RobotsCopy, RobotsVerdict

HIGH, MEDIUM, LOW, GUESS = range(RANKS)
NOW = 1000.0


class FixedPace:
    """The same pace for every host."""

    def __init__(self, pace: float = 1.0, most: int = 1) -> None:
        self.pace = pace
        self.most = most

    def pace_seconds(self, host: HostRecord) -> float:
        return self.pace

    def connections(self, host: HostRecord, now: float) -> int:
        return self.most


def record(next_at: float = 0.0) -> HostRecord:
    return HostRecord(origin="https://a.test", domain="a.test", next_at=next_at)


def entry(key: int, rank: int = LOW, due: float = NOW) -> Entry:
    return Entry(rank, int(due * 1000), key, f"/{key}", 0, 0, 0, None, 0, None, None)


class Frontier:
    """A schedule with a backend of lists, kept in step as a database does."""

    def __init__(self, pace_rules: FixedPace, window: int = 100, tasks_per_host: int = 4) -> None:
        self.schedule = Schedule(pace_rules, window, tasks_per_host)
        self.pace_rules = pace_rules
        self.rows: dict[int, dict[int, Entry]] = defaultdict(dict)
        self.next_at: dict[int, float] = defaultdict(float)

    def add(self, host: int, *entries: Entry, now: float = NOW) -> None:
        for one in entries:
            self.rows[host][one.key] = one
            self.schedule.add_task(host, one, now)

    def enter(self, *hosts: int) -> None:
        for host in hosts:
            self.schedule.add_host(host, record(self.next_at[host]))

    def fill(self, now: float) -> None:
        while self.schedule.should_refill:
            for host, asked in self.schedule.refill_requests():
                every = sorted(row for row in self.rows[host].values() if row.due <= now * 1000)
                firsts = [next((row for row in every if row.rank == rank), None) for rank in range(RANKS)]
                due = every[:asked] + [row for row in firsts if row is not None and row not in every[:asked]]
                later = [row.due for row in self.rows[host].values() if row.due > now * 1000]
                next_due = min(later) / 1000 if later and len(due) < asked else None
                self.schedule.fill_host(host, due, asked, next_due)

    def take(self, now: float) -> tuple[Slot, Entry] | None:
        self.fill(now)
        taken = self.schedule.take(now)
        if taken is None and self.schedule.should_refill:
            self.fill(now)
            taken = self.schedule.take(now)
        return taken

    def settle(self, slot: Slot, one: Entry, now: float, again_at: float | None = None) -> None:
        self.next_at[slot.host_id] = max(self.next_at[slot.host_id], now + self.pace_rules.pace)
        del self.rows[slot.host_id][one.key]
        self.schedule.complete_visit(slot, one.key, record(self.next_at[slot.host_id]))
        if again_at is not None:
            self.add(slot.host_id, one._replace(due=int(again_at * 1000)), now=now)


def drained(frontier: Frontier, now: float, longest: float = 10_000.0) -> list[tuple[float, int, int]]:
    """Take and settle every task: when, which host, which key."""
    order, end = [], now + longest
    while now < end:
        taken = frontier.take(now)
        if taken is not None:
            order.append((now, taken[0].host_id, taken[1].key))
            frontier.settle(*taken, now)
            continue
        claim_at = frontier.schedule.next_claim_at()
        if claim_at is None:
            break
        now = max(claim_at, now + 0.001)
    return order


# ---- within a host ----------------------------------------------------------------------------------------


def test_the_higher_priority_first_then_the_earlier_due() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(
        1, entry(1, LOW, 900), entry(2, HIGH, 950), entry(3, MEDIUM, 100), entry(4, HIGH, 940), entry(5, LOW, 800)
    )
    frontier.enter(1)
    assert [key for _, _, key in drained(frontier, NOW)] == [4, 2, 3, 5, 1]


def test_tasks_for_many_hosts_at_once_come_before_loaded_ones() -> None:
    frontier = Frontier(FixedPace(), tasks_per_host=4)
    frontier.add(1, *[entry(key, LOW, 900) for key in range(10)])
    frontier.enter(1)
    in_flight = frontier.take(NOW)
    assert in_flight is not None
    frontier.rows[1][50] = entry(50, LOW, 100)
    frontier.schedule.reload()
    frontier.settle(*in_flight, NOW)
    assert [key for _, _, key in drained(frontier, NOW)] == [50, *range(1, 10)]


def test_what_is_not_due_waits_and_keeps_nobody_else() -> None:
    frontier = Frontier(FixedPace(pace=0.5))
    frontier.add(1, entry(1, HIGH, NOW + 3), entry(2, LOW), entry(3, LOW))
    frontier.enter(1)
    order = drained(frontier, NOW)
    assert [key for _, _, key in order] == [2, 3, 1]
    assert order[-1][0] >= NOW + 3


def test_a_better_task_that_arrives_is_served_before_loaded_ones() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(1, *(entry(key) for key in range(1, 10)))
    frontier.enter(1)
    frontier.fill(NOW)
    frontier.add(1, entry(99, HIGH))
    assert drained(frontier, NOW)[0][2] == 99


def test_the_longest_waiting_task_gets_one_claim_in_so_many() -> None:
    """One of each level, and only then: otherwise better unloaded ones come before it."""
    frontier = Frontier(FixedPace(), tasks_per_host=4)
    frontier.add(1, *(entry(key, HIGH, 900 + key) for key in range(90)), entry(100, GUESS, 500), entry(101, GUESS, 600))
    frontier.add(1, entry(200, LOW, 700))
    frontier.enter(1)
    keys = [key for _, _, key in drained(frontier, NOW)]
    patient = keys[OLDEST_TASK_EVERY - 1 : 4 * OLDEST_TASK_EVERY : OLDEST_TASK_EVERY]
    assert patient[:3] == [100, 101, 200]
    assert [key for key in keys if key < 90] == list(range(90))


def test_a_host_with_many_requests_does_not_query_the_backend_at_every_oldest_task() -> None:
    """Where all have the same level, the longest waiting is the next loaded one."""
    frontier = Frontier(FixedPace(pace=0.0, most=64))
    frontier.add(1, *(entry(key, LOW, 900 + key / 1000) for key in range(1280)))
    frontier.enter(1)
    frontier.fill(NOW)
    order, fills = [], 0
    while taken := frontier.schedule.take(NOW):
        order.append(taken[1].key)
        frontier.settle(*taken, NOW)
        if frontier.schedule.should_refill:
            fills += 1
            frontier.fill(NOW)
    assert order == list(range(1280))
    assert fills <= 1280 / 64 + 1


def test_what_others_brought_meanwhile_is_found_while_better_ones_keep_arriving() -> None:
    """A task that another worker adds to our host is not announced: it is found when tasks are read again."""
    frontier = Frontier(FixedPace(pace=0.0, most=16))
    frontier.add(1, *(entry(key, HIGH, 900) for key in range(200)))
    frontier.enter(1)
    frontier.fill(NOW)
    frontier.rows[1][9999] = entry(9999, GUESS, 500)
    order = []
    for key in range(1000, 1100):
        taken = frontier.take(NOW)
        assert taken is not None
        order.append(taken[1].key)
        frontier.settle(*taken, NOW)
        frontier.add(1, entry(key, HIGH, 800))
    assert 9999 in order[: 4 * OLDEST_TASK_EVERY]


def test_nobody_waits_for_patience_where_there_is_nothing_better() -> None:
    frontier = Frontier(FixedPace(), tasks_per_host=4)
    frontier.add(1, entry(1, GUESS), entry(2, LOW), entry(3, GUESS, 900))
    frontier.enter(1)
    assert [key for _, _, key in drained(frontier, NOW)] == [2, 3, 1]


def test_a_task_behind_unloaded_tasks_waits_behind_them() -> None:
    frontier = Frontier(FixedPace(), tasks_per_host=4)
    frontier.add(1, *(entry(key, HIGH) for key in range(8)), entry(50, GUESS))
    frontier.enter(1)
    frontier.fill(NOW)
    frontier.add(1, entry(60, LOW))
    assert [key for _, _, key in drained(frontier, NOW)] == [*range(8), 60, 50]


def test_better_tasks_that_keep_arriving_are_served_first_and_fill_no_memory() -> None:
    frontier = Frontier(FixedPace(pace=0.0), tasks_per_host=4)
    frontier.add(1, *(entry(key, LOW, 900 + key) for key in range(100)), entry(500, GUESS, 800))
    frontier.enter(1)
    keys, most = [], 0
    for number in range(60):
        taken = frontier.take(NOW)
        assert taken is not None
        keys.append(taken[1].key)
        most = max(most, len(taken[0].loaded_keys))
        frontier.add(1, *(entry(1000 + 2 * number + one, HIGH) for one in range(2)))
        frontier.settle(*taken, NOW)
    assert [key for key in keys if key < 1000] == [0, 500, 1, 2, 3, 4, 5], "the first, and the longest waiting"
    assert most <= 2 * 4 + RANKS


def test_the_number_of_due_tasks_is_known_when_all_are_loaded() -> None:
    frontier = Frontier(FixedPace(pace=0.0), tasks_per_host=4)
    frontier.add(1, *(entry(key) for key in range(6)), entry(9, LOW, NOW + 60))
    frontier.enter(1)
    counts = []
    for _ in range(6):
        taken = frontier.take(NOW)
        assert taken is not None
        counts.append(taken[0].waiting)
        frontier.settle(*taken, NOW)
    assert counts[0] is None
    assert counts[-3:] == [2, 1, 0]


def test_a_loaded_task_is_not_loaded_twice() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(1, entry(1))
    frontier.enter(1)
    frontier.fill(NOW)
    frontier.schedule.add_task(1, entry(1), NOW)
    assert [key for _, _, key in drained(frontier, NOW)] == [1]


# ---- paces ------------------------------------------------------------------------------------------------


def test_a_host_is_not_served_before_its_time() -> None:
    frontier = Frontier(FixedPace())
    frontier.next_at[1] = NOW + 30
    frontier.add(1, entry(1))
    frontier.enter(1)
    assert frontier.take(NOW) is None
    assert frontier.take(NOW + 29.9) is None
    assert frontier.schedule.next_claim_at() == NOW + 30
    assert frontier.take(NOW + 30) is not None


def test_a_pace_counts_from_the_claim_already() -> None:
    """Two connections and a pace: the second request waits for its time, not for the first answer."""
    frontier = Frontier(FixedPace(pace=2.0, most=2))
    frontier.add(1, entry(1), entry(2), entry(3))
    frontier.enter(1)
    assert frontier.take(NOW) is not None
    assert frontier.take(NOW + 1.9) is None
    assert frontier.take(NOW + 2.0) is not None
    assert frontier.take(NOW + 100) is None  # both connections are busy


def test_a_backoff_set_by_a_visit_is_kept() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(1, entry(1), entry(2))
    frontier.enter(1)
    taken = frontier.take(NOW)
    assert taken is not None
    frontier.next_at[1] = NOW + 45
    frontier.settle(*taken, NOW)
    assert frontier.take(NOW + 44) is None
    assert frontier.take(NOW + 45) is not None


def test_hosts_alternate_however_many_tasks_one_of_them_has() -> None:
    frontier = Frontier(FixedPace(pace=1.0), tasks_per_host=16)
    frontier.add(1, *(entry(key) for key in range(500)))
    for host in range(2, 12):
        frontier.add(host, entry(1), entry(2))
    frontier.enter(*range(1, 12))
    order = drained(frontier, NOW)
    small = [at for at, host, _ in order if host != 1]
    assert len(small) == 20
    assert max(small) <= NOW + 1.1
    assert len(order) == 520


def test_a_claim_that_is_given_up_comes_first_again() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(1, entry(1, HIGH), entry(2, HIGH))
    frontier.enter(1)
    taken = frontier.take(NOW)
    assert taken is not None
    frontier.schedule.put_back(*taken, NOW)
    assert [key for _, _, key in drained(frontier, NOW + 1)] == [1, 2]


def test_a_task_put_off_by_its_visit_comes_back_at_its_time() -> None:
    frontier = Frontier(FixedPace())
    frontier.add(1, entry(1))
    frontier.enter(1)
    taken = frontier.take(NOW)
    assert taken is not None
    frontier.settle(*taken, NOW, again_at=NOW + 60)
    assert frontier.take(NOW + 59) is None
    assert frontier.schedule.next_claim_at() == NOW + 60
    assert frontier.take(NOW + 60) is not None


# ---- the window -------------------------------------------------------------------------------------------


def test_idle_hosts_make_room_and_busy_ones_stay() -> None:
    frontier = Frontier(FixedPace(), window=3)
    frontier.add(1, entry(1))
    frontier.add(2, entry(1))
    frontier.enter(1, 2, 3)
    frontier.fill(NOW)
    assert frontier.schedule.free_capacity == 0
    assert frontier.take(NOW) is not None
    frontier.schedule.evict_hosts(NOW)
    assert (1 in frontier.schedule, 2 in frontier.schedule, 3 in frontier.schedule) == (True, True, False)
    assert (frontier.schedule.free_capacity, len(frontier.schedule)) == (1, 2)


def test_a_host_that_backs_off_or_had_its_share_is_evicted_and_loses_nothing() -> None:
    frontier = Frontier(FixedPace(), window=4, tasks_per_host=4)
    for host in (1, 2, 3, 4):
        frontier.add(host, *(entry(key) for key in range(20)))
    frontier.next_at[2] = NOW + 60
    frontier.next_at[3] = NOW + 8
    frontier.enter(1, 2, 3)
    frontier.fill(NOW)
    now = NOW
    for _ in range(4):
        taken = frontier.take(now)
        assert taken is not None
        frontier.settle(*taken, now)
        now += 1.0
    frontier.enter(4)  # it comes in, and is not served yet
    frontier.schedule.evict_hosts(now)
    assert [host for host in (1, 2, 3, 4) if host in frontier.schedule] == [3, 4]
    frontier.enter(1, 2)
    assert len(drained(frontier, now)) == 76


def test_a_huge_robots_txt_takes_many_units_of_the_window() -> None:
    schedule = Schedule(FixedPace(), 100, 4)
    huge = RobotsCopy(RobotsVerdict.RULES, NOW, NOW, "#" * 500 * 1024)
    schedule.add_host(1, record())
    assert schedule.free_capacity == 99
    schedule.fill_host(1, [entry(1)], 4, None)
    taken = schedule.take(NOW)
    assert taken is not None
    schedule.complete_visit(taken[0], 1, msgspec.structs.replace(record(), robots=huge))
    assert schedule.free_capacity == 100 - 32
    schedule.evict_hosts(NOW)
    assert schedule.free_capacity == 100


def test_heap_entries_of_evicted_hosts_are_removed() -> None:
    schedule = Schedule(FixedPace(), 10, 4)
    for host in range(5000):
        schedule.add_host(host, record(NOW + 86_400))
        schedule.fill_host(host, [entry(1)], 4, None)
        if not schedule.free_capacity:
            schedule.evict_hosts(NOW)
    assert len(schedule) <= 10
    assert len(schedule._heap) <= 2 * 10 + SPARE_HEAP_ENTRIES + 1


def test_an_answer_for_a_host_that_has_left_is_dropped() -> None:
    schedule = Schedule(FixedPace(), 10, 4)
    schedule.fill_host(7, [entry(1)], 4, None)
    schedule.add_task(7, entry(1), NOW)
    assert schedule.take(NOW) is None
    assert schedule.next_claim_at() is None


def test_only_some_tasks_of_a_host_are_loaded_at_a_time() -> None:
    frontier = Frontier(FixedPace(pace=0.0), tasks_per_host=4)
    frontier.add(1, *(entry(key) for key in range(1000)))
    frontier.enter(1)
    most = 0
    for _ in range(1000):
        taken = frontier.take(NOW)
        assert taken is not None
        most = max(most, len(taken[0].loaded_keys))
        frontier.settle(*taken, NOW)
    assert frontier.take(NOW) is None
    assert most <= 4 * 4


@given(st.lists(st.tuples(st.integers(0, RANKS - 1), st.integers(0, 5)), min_size=1))
def test_the_longest_waiting_is_the_earliest_due_and_of_equals_the_better(positions: list[tuple[int, int]]) -> None:
    entries = sorted(entry(key, rank, due) for key, (rank, due) in enumerate(positions))
    index = _find_oldest_position(entries)
    assert (entries[index].due, index) == min((one.due, number) for number, one in enumerate(entries))


@given(st.lists(st.integers(0, RANKS - 1), max_size=60))
def test_of_too_many_the_best_stay_and_the_first_of_each_other_level(ranks: list[int]) -> None:
    frontier = Frontier(FixedPace(), tasks_per_host=4)
    frontier.enter(1)
    entries = [entry(key, rank) for key, rank in enumerate(ranks)]
    frontier.schedule.fill_host(1, entries, 100, None)
    best = sorted(entries)[:8]
    firsts = {rank: min(one for one in entries if one.rank == rank) for rank in set(ranks)}
    stay = best + [one for rank, one in sorted(firsts.items()) if rank not in {one.rank for one in best}]
    slot = frontier.schedule._slots[1]
    assert slot.entries == stay
    assert slot.loaded_keys == {one.key for one in stay}
    gone = [one for one in sorted(entries) if one not in stay]
    assert slot.unloaded_from == (gone[0][:3] if gone else None)


# ---- everything at once -----------------------------------------------------------------------------------

tasks = st.tuples(st.integers(0, 5), st.integers(0, RANKS - 1), st.floats(-20, 20))


@given(
    st.lists(tasks, min_size=1, max_size=60),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 60),
)
def test_every_task_is_served_once_never_early_and_never_too_close(
    wanted: list[tuple[int, int, float]], pace: float, most: int, tasks_per_host: int, late: int
) -> None:
    """Some tasks exist when the host is added, others arrive while it is served."""
    frontier = Frontier(FixedPace(pace, most), tasks_per_host=tasks_per_host)
    entries = [(host, entry(key, rank, NOW + wait)) for key, (host, rank, wait) in enumerate(wanted)]
    for host, one in entries[:late]:
        frontier.add(host, one)
    frontier.enter(*range(6))
    frontier.fill(NOW)
    for host, one in entries[late:]:
        frontier.add(host, one)
    order = drained(frontier, NOW)
    assert sorted((host, key) for _, host, key in order) == sorted((host, one.key) for host, one in entries)
    due = {one.key: one.due / 1000 for _, one in entries}
    assert all(at >= due[key] for at, _, key in order)
    last: dict[int, float] = {}
    for at, host, _ in order:
        assert at >= last.get(host, 0.0) + pace
        last[host] = at
