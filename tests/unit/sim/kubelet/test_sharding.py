"""Which simulator holds which shards: pure decisions, and the election played by hand."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import sharding
from kubedyno.sim.kubelet.sharding import Turn, View

pytestmark = pytest.mark.unit

RENEWED = "2026-01-02T03:04:05.000000Z"


class Board:
    """The leases of a cluster, and simulators that look at them and write."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.now_s = 100.0
        self.leases: dict[str, Object] = {}
        self._version = 0
        self._views: dict[str, View] = {}

    @property
    def now_ns(self) -> int:
        return round(self.now_s * NS_PER_S)

    def look(self, me: str) -> View:
        seen = sharding.view(self.leases.values(), me=me, now_ns=self.now_ns, before=self._views.get(me, View()))
        self._views[me] = seen
        return seen

    def decide(self, me: str) -> Turn:
        return sharding.turn(self.look(me), me=me, shards=self.shards, now_ns=self.now_ns)

    def write(self, lease: Object) -> bool:
        """As a server does: a version that is not the present one is a conflict."""
        metadata = lease["metadata"]
        known = self.leases.get(metadata["name"])
        if metadata.get("resourceVersion") != (known["metadata"]["resourceVersion"] if known else None):
            return False
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        self.leases[metadata["name"]] = lease
        return True

    def play(self, me: str) -> set[int]:
        """One whole round; the shards that it holds then."""
        turn = self.decide(me)
        seen = self._views[me]
        self.write(sharding.member_lease(me, seen.own, renewed=RENEWED))
        for number in turn.release:
            self.write(sharding.shard_lease(number, seen.shards[number], holder="", renewed=RENEWED))
        return {
            number
            for number in turn.hold
            if self.write(sharding.shard_lease(number, seen.shards.get(number), holder=me, renewed=RENEWED))
        }

    def rounds(self, *members: str, count: int = 1) -> dict[str, set[int]]:
        held: dict[str, set[int]] = {}
        for _ in range(count):
            held = {me: self.play(me) for me in members}
            self.now_s += sharding.RETRY_S
        return held


def shares(held: dict[str, set[int]]) -> list[int]:
    return sorted(map(len, held.values()))


def test_a_simulator_alone_holds_all_shards() -> None:
    assert Board(8).play("a") == set(range(8))


@pytest.mark.parametrize(
    ("members", "shards", "expected"),
    [(2, 8, [4, 4]), (3, 8, [2, 3, 3]), (5, 8, [1, 1, 2, 2, 2]), (4, 2, [0, 0, 1, 1])],
)
def test_shares_differ_by_one_at_most_and_every_shard_has_one_holder(
    members: int, shards: int, expected: list[int]
) -> None:
    board = Board(shards)
    held = board.rounds(*(f"m-{number}" for number in range(members)), count=4)
    assert shares(held) == expected
    assert sorted(number for numbers in held.values() for number in numbers) == list(range(shards))


def test_who_joins_gets_its_share_and_what_others_keep_stays_where_it_is() -> None:
    board = Board(8)
    before = board.rounds("a", "b", count=4)
    after = board.rounds("a", "b", "c", count=4)
    assert shares(after) == [2, 3, 3]
    assert after["a"] < before["a"]
    assert after["b"] < before["b"]


def test_who_is_silent_is_no_member_after_the_time_of_a_lease_and_others_take_its_shards() -> None:
    board = Board(8)
    board.rounds("a", "b", "c", count=4)
    silent_since_s = board.now_s - sharding.RETRY_S
    while board.now_s <= silent_since_s + sharding.LEASE_S:
        assert shares(board.rounds("a", "b"))[0] < 4
    assert shares(board.rounds("a", "b", count=2)) == [4, 4]
    assert [lease.holder for lease in board.look("a").silent] == ["c"]


def test_a_shard_that_is_given_away_is_free_for_the_next() -> None:
    board = Board(2)
    board.play("a")
    board.look("b")
    board.write(sharding.member_lease("b", None, renewed=RENEWED))
    turn = board.decide("a")
    assert len(turn.hold) == len(turn.release) == 1
    assert board.decide("b").hold == ()
    board.play("a")
    assert board.decide("b").hold == turn.release


def test_leases_count_by_our_own_clock_whatever_time_is_written_in_them() -> None:
    board = Board(2)
    board.play("a")
    board.now_s += 1000
    # Written long ago or in the future, it was seen just now.
    assert board.decide("b").hold == ()
    board.now_s += sharding.LEASE_S
    assert board.decide("b").hold == ()
    board.now_s += 1
    assert set(board.decide("b").hold) == {0, 1}


def test_a_lease_tells_who_holds_it_and_how_often_that_changed() -> None:
    board = Board(1)
    for me in ("a", "a"):
        board.play(me)
    lease = board.leases["kubedyno-simulator-0"]
    assert lease["metadata"]["namespace"] == "kube-system"
    assert lease["metadata"]["labels"] == {"kubedyno/simulator": "shard.0"}
    assert lease["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "renewTime": RENEWED,
        "leaseTransitions": 0,
    }
    given = sharding.shard_lease(0, board.look("a").shards[0], holder="", renewed=RENEWED)
    assert given["spec"]["leaseTransitions"] == 1


@pytest.mark.parametrize("me", ["Host_7.local-abcd", "3", "x" * 300])
def test_any_name_of_a_host_makes_a_lease_of_its_own(me: str) -> None:
    name = sharding.member_lease(me, None, renewed=RENEWED)["metadata"]["name"]
    assert name.startswith("kubedyno-simulator-member-")
    assert len(name) <= 63
    assert name == name.lower()


def test_leases_of_strangers_mean_nothing() -> None:
    lease: dict[str, Any] = {"metadata": {"name": "x", "resourceVersion": "1", "labels": {sharding.LABEL: "other"}}}
    seen = sharding.view([lease, {**lease, "spec": None}], me="a", now_ns=0, before=View())
    assert (seen.shards, seen.members, seen.own) == ({}, frozenset(), None)


def test_nodes_are_spread_over_the_shards_and_stay_where_they_are() -> None:
    counts = [0] * 8
    for number in range(4000):
        counts[sharding.shard_of(f"gpu-{number}", 8)] += 1
    assert min(counts) > 400
    assert sharding.shard_of("gpu-7", 8) == sharding.shard_of("gpu-7", 8)


@hypothesis.given(
    shards=st.integers(1, 9),
    steps=st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0.0, 12.0)), max_size=60),
)
def test_no_shard_ever_has_two_holders(shards: int, steps: list[tuple[str, float]]) -> None:
    """Simulators come in any order and pause for any time; who has not renewed in time believes in nothing."""
    board = Board(shards)
    renewed_s: dict[str, float] = {}
    held: dict[str, set[int]] = {}
    for me, pause_s in steps:
        board.now_s += pause_s
        for other, at_s in renewed_s.items():
            if board.now_s - at_s > sharding.RENEW_WITHIN_S:
                held[other] = set()
        held[me] = board.play(me)
        renewed_s[me] = board.now_s
        believed = [number for numbers in held.values() for number in numbers]
        assert len(believed) == len(set(believed))
