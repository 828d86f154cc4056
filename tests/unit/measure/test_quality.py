"""Quality from the lives of pods: small worlds with figures that can be worked out by hand."""

from typing import Any

import pytest

from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.lives import Allocation, ClaimLife, Lives, NodeLife, PodLife, QueueLife
from kubedyno.measure.quality import Quality, quality_of
from kubedyno.measure.quality.closeness import fewest
from kubedyno.measure.records import Measurement
from kubedyno.model import domains, feasibility

pytestmark = pytest.mark.unit

RACK = "topology/rack"


def at(seconds: float) -> int:
    return round((100 + seconds) * NS_PER_S)


def pod(name: str, created: float, bound: float | None = None, **more: Any) -> PodLife:
    """A pod by its times in seconds; what is said in `more` goes over a lone one of one GPU."""
    times = {key: at(more.pop(key)) for key in ("ended_ns", "running_ns", "unschedulable_ns") if key in more}
    fields: dict[str, Any] = {
        "uid": name,
        "namespace": "default",
        "name": name,
        "workload": name,
        "group": None,
        "least": 1,
        "queue": None,
        "gpus": 1.0,
        "priority": 50,
        "node": "n0" if bound is not None else None,
    }
    return PodLife(created_ns=at(created), bound_ns=None if bound is None else at(bound), **{**fields, **more}, **times)


def gang(name: str, pods: list[PodLife], least: int | None = None) -> list[PodLife]:
    for member in pods:
        member.group, member.workload, member.least = f"PodGroup/default/{name}", name, least or len(pods)
    return pods


def nodes(count: int, gpus: float = 8.0, per_rack: int = 2) -> list[NodeLife]:
    return [
        NodeLife(
            name=f"n{index}",
            gpus=gpus,
            labels={RACK: f"r{index // per_rack}", "kubernetes.io/hostname": f"n{index}"},
            seen_ns=at(0),
        )
        for index in range(count)
    ]


def lives(pods: list[PodLife], **more: Any) -> Lives:
    return Lives(
        pods=pods,
        nodes=more.get("nodes", []),
        queues=more.get("queues", []),
        levels=(RACK, "kubernetes.io/hostname"),
        claims=more.get("claims", []),
    )


def claim(name: str, created: float, *held: tuple[float, float | None], **more: Any) -> ClaimLife:
    """A claim by its times in seconds: `held` are those in which it had its `devices`, one of its own unless told."""
    devices = tuple(("driver", "pool", device) for device in more.pop("devices", (name,)))
    return ClaimLife(
        uid=name,
        namespace="default",
        name=name,
        created_ns=at(created),
        allocations=[
            Allocation(since_ns=at(since), until_ns=None if until is None else at(until), devices=devices)
            for since, until in held
        ],
        reserved_ns=at(more["reserved"]) if "reserved" in more else None,
    )


def queue(name: str, quota: float, *, since: float = 0, parent: str | None = None) -> QueueLife:
    return QueueLife(
        name=name, parent=parent, quota=quota, over_quota_weight=1, limit=-1, priority=100, since_ns=at(since)
    )


def named(quality: Quality) -> dict[str, Measurement]:
    return {one.name: one for one in quality.measurements}


def series(quality: Quality, name: str) -> list[tuple[float, float]]:
    return [((row.time_ns - at(0)) / NS_PER_S, row.value) for row in quality.series if row.series == name]


def test_nothing_that_lived_has_no_quality() -> None:
    assert quality_of(lives([])) == Quality((), ())


def test_what_does_not_apply_is_absent_not_zero() -> None:
    found = named(quality_of(lives([pod("a", 0)], nodes=nodes(1))))
    assert found == {}
    found = named(quality_of(lives([pod("a", 0, 1)])))
    assert set(found) == {"time to first bind", "time to last bind", "wait for binding"}


def test_throughput_is_what_was_bound_between_the_first_and_the_last() -> None:
    pods = [pod(f"p{index}", 0, 1 + index * 0.5) for index in range(9)]  # bound at 1, 1.5, ... 5
    quality = quality_of(lives(pods), lag_s=0.25)
    found = named(quality)
    assert (found["time to first bind"].value, found["time to last bind"].value) == (1.0, 5.0)
    assert (found["time to first bind"].lower, found["time to first bind"].upper) == (0.75, 1.25)
    assert found["throughput"].value == 2.0
    assert found["wait for binding"].value == 3.0
    assert series(quality, "bound_per_s") == [(1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.0), (5.0, 2.0)]


def test_only_the_part_that_is_asked_for_counts() -> None:
    pods = [pod("early", 0, 1), pod("late", 0, 6), pod("after", 0, 30)]
    found = named(quality_of(lives(pods), since_ns=at(5), until_ns=at(10)))
    assert found["time to first bind"].value == found["time to last bind"].value == 1.0
    assert found["wait for binding"].samples == (1.0,)  # it could not be bound before


def test_a_gang_waits_from_its_last_pod_until_enough_are_bound() -> None:
    whole = gang("whole", [pod("a", 0, 5), pod("b", 2, 6)])
    elastic = gang("elastic", [pod("c", 0, 3), pod("d", 1, 4), pod("e", 9, 10)], least=2)
    never = gang("never", [pod("f", 0), pod("g", 0, 1)])
    found = named(quality_of(lives(whole + elastic + never)))
    assert sorted(found["gang latency"].samples) == [3.0, 4.0]


def test_a_gang_spreads_from_its_first_binding_and_starts_when_enough_run() -> None:
    whole = gang("whole", [pod("a", 0, 5, running_ns=7), pod("b", 2, 6, running_ns=9)])
    waits = gang("waits", [pod("c", 0, 1, running_ns=2), pod("d", 1, 4)])
    found = named(quality_of(lives(whole + waits)))
    assert sorted(found["gang spread"].samples) == [1.0, 3.0]
    assert found["gang start"].samples == (7.0,)


def job(name: str, pods: list[PodLife], abreast: int) -> list[PodLife]:
    for member in pods:
        member.job, member.abreast = f"Job/default/{name}", abreast
    return pods


def test_a_job_of_several_pods_is_whole_when_as_many_are_bound_as_it_runs_at_a_time() -> None:
    whole = job("whole", [pod("a", 0, 1, running_ns=2), pod("b", 0, 4, running_ns=5)], abreast=2)
    # The third takes the place of one that is done, the fifth that of one that was evicted before all were there.
    waves = job("waves", [pod("c", 0, 1, ended_ns=2, end="succeeded"), pod("d", 0, 1.5), pod("e", 3, 9)], abreast=2)
    lost = job("lost", [pod("f", 0, 1, ended_ns=2, end="evicted"), pod("g", 0, 3), pod("h", 2, 6)], abreast=2)
    single = job("single", [pod("i", 0, 1)], abreast=1)
    few = job("few", [pod("j", 0, 1)], abreast=3)
    in_gang = job("in-gang", gang("g", [pod("k", 0, 1), pod("l", 0, 2)]), abreast=2)
    found = named(quality_of(lives(whole + waves + lost + single + few + in_gang)))
    assert found["Job latency"].samples == (4.0, 1.5, 6.0)
    assert found["Job spread"].samples == (3.0, 0.5, 5.0)
    assert found["Job start"].samples == (5.0,)
    assert found["gang latency"].samples == (2.0,)


def test_jobs_of_one_pod_are_no_group() -> None:
    found = named(quality_of(lives(job("single", [pod("a", 0, 1)], abreast=1))))
    assert not any(name.startswith(("Job", "gang")) for name in found)


def test_claims_wait_for_their_devices_and_for_a_pod() -> None:
    claims = [
        claim("a", 0, (1, 5), reserved=1),
        claim("b", 1, (4, None), reserved=6),
        claim("never", 2),
        claim("before", -9, (-8, None)),  # satisfied before anybody looked
    ]
    quality = quality_of(lives([pod("p", 0, 10)], claims=claims), since_ns=at(0), lag_s=0.5)
    found = named(quality)
    assert found["claims"].value == 3
    assert found["wait for allocation"].samples == (1.0, 3.0)
    assert [one.percent for one in found["wait for allocation"].percentiles] == [50.0, 90.0, 99.0]
    assert (found["wait for allocation"].lower, found["wait for allocation"].upper) == (0.5, 3.5)
    assert found["allocation to reservation"].samples == (0.0, 2.0)
    assert found["devices allocated at most"].value == 3
    drawn = series(quality, "devices_allocated")
    assert [value for _, value in drawn] == [2, 2, 2, 3, 2, 2, 2, 2, 2, 2]
    assert {row.component for row in quality.series if row.series == "devices_allocated"} == {"driver"}


def test_a_device_that_claims_share_or_hand_on_counts_once() -> None:
    claims = [
        claim("a", 0, (0, 4), devices=("shared", "own")),
        claim("b", 0, (1, 3), devices=("shared",)),
        claim("next", 0, (4, 5), (6, 7), devices=("own",)),  # from the very moment at which it was free
    ]
    quality = quality_of(lives([pod("p", 0, 8)], claims=claims))
    assert named(quality)["devices allocated at most"].value == 2
    assert [value for _, value in series(quality, "devices_allocated")] == [2, 2, 2, 1, 0, 1, 0, 0]


def test_what_claims_held_when_the_part_began_counts() -> None:
    claims = [claim("a", 0, (0, 6)), claim("b", 0, (0, 2)), claim("c", 0, (9, None))]
    found = named(quality_of(lives([pod("p", 0, 8)], claims=claims), since_ns=at(5), until_ns=at(8)))
    assert found == named(quality_of(lives([pod("p", 0, 8)]), since_ns=at(5), until_ns=at(8)))  # none was satisfied
    claims[2].allocations[0].since_ns = at(5.5)
    found = named(quality_of(lives([pod("p", 0, 8)], claims=claims), since_ns=at(5), until_ns=at(8)))
    assert found["devices allocated at most"].value == 2


def test_gpus_of_an_incomplete_gang_are_held_for_nothing() -> None:
    slow = gang("slow", [pod("a", 0, 1, gpus=2.0), pod("b", 0, 4, gpus=2.0)])  # 2 GPUs for 3 s
    broken = gang("broken", [pod("c", 0, 1), pod("d", 0, 1, ended_ns=6, end="evicted")])  # 1 GPU from 6 to 10
    finished = gang("finished", [pod("e", 0, 1, ended_ns=3, end="succeeded"), pod("f", 0, 1)])
    found = named(quality_of(lives(slow + broken + finished), until_ns=at(10)))
    assert found["GPU-seconds held by incomplete gangs"].value == pytest.approx(6.0 + 4.0)


def test_no_gang_that_is_placed_at_once_holds_anything_for_nothing() -> None:
    found = named(quality_of(lives(gang("g", [pod("a", 0, 1), pod("b", 0, 1)])), until_ns=at(9)))
    assert found["GPU-seconds held by incomplete gangs"].value == 0.0


def test_utilisation_and_fragmentation_are_weighted_by_time() -> None:
    pods = [
        pod("half", 0, 0, gpus=4.0, node="n0"),  # one node half used, one free: of 12 free GPUs 4 are broken up
        pod("rest", 0, 5, gpus=4.0, node="n0"),  # one full, one free: none is broken up
    ]
    quality = quality_of(lives(pods, nodes=nodes(2)), until_ns=at(10))
    found = named(quality)
    assert found["GPU utilisation"].value == pytest.approx((0.25 * 5 + 0.5 * 5) / 10)
    assert found["GPU fragmentation"].value == pytest.approx((4 / 12) * 5 / 10)
    assert series(quality, "gpu_utilisation")[0] == (1.0, 0.25)
    assert series(quality, "gpu_utilisation")[-1] == (10.0, 0.5)


def test_nodes_that_go_take_their_gpus_with_them() -> None:
    there = nodes(2)
    there[1].gone_ns = at(5)
    found = named(quality_of(lives([pod("a", 0, 0, gpus=8.0)], nodes=there), until_ns=at(10)))
    assert found["GPU utilisation"].value == pytest.approx((0.5 * 5 + 1.0 * 5) / 10)


def test_fragmentation_over_time_is_what_the_oracle_says() -> None:
    rng = randomness.stream(3, "quality")
    there = nodes(6)
    taken: list[tuple[str, float]] = []
    pods = []
    for number in range(12):
        name, gpus = f"n{rng.randrange(6)}", float(rng.choice([1, 2]))
        taken.append((name, gpus))
        pods.append(pod(f"p{number}", 0, number, gpus=gpus, node=name))
        found = series(quality_of(lives(pods, nodes=there), until_ns=at(number + 0.5)), "gpu_fragmentation")
        whole = {node.name: node.gpus for node in there}
        free = feasibility.free_gpus(whole, taken)
        assert found[-1][1] == pytest.approx(feasibility.fragmentation(free, whole))


def test_a_gang_in_more_domains_than_it_needs_is_told() -> None:
    spread = gang("spread", [pod("a", 0, 1, gpus=8.0, node="n0"), pod("b", 0, 1, gpus=8.0, node="n2")])
    close = gang("close", [pod("c", 0, 2, gpus=8.0, node="n4"), pod("d", 0, 2, gpus=8.0, node="n5")])
    found = named(quality_of(lives(spread + close, nodes=nodes(6))))
    assert found[f"domains spanned, {RACK}"].samples == (2.0, 1.0)
    assert found[f"domains beyond the fewest, {RACK}"].samples == (1.0, 0.0)
    assert not any("hostname" in name for name in found)  # each node is its own


def test_a_gang_that_had_no_choice_is_not_blamed() -> None:
    others = [pod("x", 0, 0, gpus=8.0, node="n1"), pod("y", 0, 0, gpus=8.0, node="n3")]
    spread = gang("spread", [pod("a", 0, 1, gpus=8.0, node="n0"), pod("b", 0, 1, gpus=8.0, node="n2")])
    found = named(quality_of(lives(others + spread, nodes=nodes(4))))
    assert found[f"domains beyond the fewest, {RACK}"].samples == (0.0,)


def test_the_fewest_domains_are_those_of_the_oracle() -> None:
    np = pytest.importorskip("numpy")
    rng = randomness.stream(5, "quality")
    for _ in range(200):
        free = [rng.randrange(9) for _ in range(12)]
        racks = [rng.randrange(4) for _ in range(12)]
        gpus, pods = rng.randrange(1, 9), rng.randrange(1, 20)
        by_name = {f"n{place}": amount for place, amount in enumerate(free)}
        rack_of = {f"n{place}": str(rack) for place, rack in enumerate(racks)}
        places = domains.places_by_domain(by_name, rack_of, gpus)
        found = fewest(np.array(free, dtype=float), np.array(racks), gpus=gpus, pods=pods)
        assert found == domains.fewest_domains(places, pods)


def test_fairness_is_how_far_queues_are_from_their_shares() -> None:
    pods = [pod(f"a{index}", 0, 0, queue="a", gpus=8.0, node=f"n{index}") for index in range(2)]
    pods += [pod(f"b{index}", 5, queue="b", gpus=8.0) for index in range(2)]
    queues = [queue("a", 8), queue("b", 8)]
    quality = quality_of(lives(pods, nodes=nodes(2), queues=queues), until_ns=at(10))
    # Until 5 s all is lent to a, which is fair; then b wants 16, deserves 8 and has nothing: 8 too many, 8 too few.
    assert series(quality, "fair_share_error")[0] == (1.0, 0.0)
    assert series(quality, "fair_share_error")[-1] == (10.0, 1.0)
    assert named(quality)["fair-share error"].value == pytest.approx(0.6)  # looked at once a second


def test_queues_that_change_are_judged_by_what_they_were() -> None:
    pods = [pod("a", 0, 0, queue="a", gpus=8.0), pod("b", 0, queue="b", gpus=8.0)]
    queues = [queue("a", 8, parent="root"), queue("b", 0, parent="root"), queue("a", 0, since=4.5, parent="root")]
    queues.append(queue("b", 8, since=4.5, parent="root"))
    quality = quality_of(lives(pods, nodes=nodes(1), queues=queues), until_ns=at(8))
    errors = dict(series(quality, "fair_share_error"))
    assert (errors[4.0], errors[5.0]) == (0.0, 2.0)


def test_one_queue_alone_is_neither_fair_nor_unfair() -> None:
    found = named(quality_of(lives([pod("a", 0, 1, queue="a")], nodes=nodes(1), queues=[queue("a", 8)])))
    assert "fair-share error" not in found


def test_evictions_are_held_against_what_others_got() -> None:
    victims = [pod(f"v{index}", 0, 1, ended_ns=5, end="evicted") for index in range(4)]
    reclaimer = pod("r", 4, 6, gpus=3.0)
    again = pod("v0-again", 5, 7, gpus=1.0)
    again.workload = "v0"
    found = named(quality_of(lives([*victims, reclaimer, again], nodes=nodes(1))))
    assert found["evicted pods"].value == 4
    assert found["evictions per reclaimed GPU"].value == pytest.approx(4 / 4)
    assert found["GPUs evicted for nothing"].value == 0


def test_whoever_takes_its_own_place_again_reclaimed_nothing() -> None:
    victim = pod("v", 0, 1, ended_ns=5, end="evicted", gpus=2.0)
    again = pod("v-again", 5, 7, gpus=2.0)
    again.workload = "v"
    found = named(quality_of(lives([victim, again], nodes=nodes(1))))
    assert "evictions per reclaimed GPU" not in found
    assert found["GPUs evicted for nothing"].value == 2.0


def test_the_time_until_somebody_says_that_it_is_hopeless() -> None:
    hopeless = gang("g", [pod("a", 0, unschedulable_ns=2), pod("b", 1, unschedulable_ns=3)])
    found = named(quality_of(lives([*hopeless, pod("c", 0, unschedulable_ns=5), pod("d", 0)])))
    assert sorted(found["time to declare unschedulable"].samples) == [2.0, 5.0]
