"""The leases of simulated nodes, in virtual time."""

import itertools
import logging
from typing import Any

import pytest
from tests.yard import Yard, failing, lost, run_in_yard

from kubedyno.client.transport import Response
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODES

pytestmark = pytest.mark.unit

LEASE_S = 30
PERIOD_S = 10.0
SPACE = "kube-node-lease"


def renewals(changes: list[tuple[float, str, Object]]) -> dict[str, list[float]]:
    """When each node's lease was written."""
    found: dict[str, list[float]] = {}
    for at_s, _, lease in changes:
        found.setdefault(lease["metadata"]["name"], []).append(at_s)
    return found


def is_of_lease(path: str) -> bool:
    return "/leases" in path


def test_every_node_has_one_lease_that_it_holds_and_renews_three_times_in_its_duration() -> None:
    async def story(world: Yard) -> None:
        names = [f"n-{number}" for number in range(20)]
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S) as simulator:
            for name in names:
                await world.node(name)
            await world.sleep(100)
        found = renewals(changes)
        assert sorted(found) == sorted(names)
        for name, times in found.items():
            assert times[0] <= PERIOD_S
            gaps = [after - before for before, after in itertools.pairwise(times)]
            assert gaps == pytest.approx([PERIOD_S] * len(gaps), abs=0.01), name
            assert len(times) >= 9
        for _, _, lease in changes:
            name = lease["metadata"]["name"]
            assert lease["metadata"]["namespace"] == SPACE
            assert lease["spec"]["holderIdentity"] == name
            assert lease["spec"]["leaseDurationSeconds"] == LEASE_S
            assert lease["metadata"]["ownerReferences"][0]["name"] == name
        assert simulator.lag.late_leases == 0
        assert simulator.lag.contested == set()

    run_in_yard(story)


def test_phases_are_spread_over_the_period() -> None:
    async def story(world: Yard) -> list[float]:
        for number in range(100):
            await world.node(f"n-{number}")
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S):
            await world.sleep(PERIOD_S)
        return [times[0] for times in renewals(changes).values()]

    firsts = run_in_yard(story)
    assert len(firsts) == 100
    tenths = [sum(int(first) == second for first in firsts) for second in range(10)]
    assert max(tenths) < 25
    assert min(tenths) >= 2


def test_on_a_server_at_its_limit_leases_give_way_but_none_is_late() -> None:
    async def story(world: Yard) -> None:
        for number in range(100):
            await world.node(f"n-{number}")
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S) as simulator:
            connection = simulator.connection
            connection.delay_s = 0.01
            await world.sleep(60)
            connection.most, connection.delay_s = 0, 0.5
            await world.sleep(20)
            assert connection.most <= 4  # what a quick server needs, and no more
            await world.sleep(200)
            assert 4 < connection.most <= 16
            assert simulator.lag.late_leases == 0
            for times in renewals(changes).values():
                assert max(after - before for before, after in itertools.pairwise(times)) < LEASE_S

    run_in_yard(story)


def test_without_a_duration_there_are_no_leases() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=0):
            await world.node()
            await world.pod()
            await world.until_ready()
            await world.sleep(100)
        assert (await world.client.list_all(LEASES, namespace=SPACE)).items == []

    run_in_yard(story)


def test_a_burst_of_pods_does_not_delay_leases() -> None:
    async def story(world: Yard) -> None:
        for number in range(40):
            await world.node(f"n-{number}", pods="110", cpu="1000")
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S, cost_s=0.05) as simulator:
            await world.sleep(20)
            for number in range(1000):
                await world.pod(f"p-{number}", node=f"n-{number % 40}")
            await world.sleep(20)
            # A thousand pods at a twentieth of a second each, by 24 workers: that takes longer than a period's third.
            assert simulator.lag.report().start_most_s > 2
            assert simulator.lag.start.count == 1000
            report = simulator.lag.report()
        assert report.lease_most_s < 0.5
        assert report.late_leases == 0
        for times in renewals(changes).values():
            gaps = [after - before for before, after in itertools.pairwise(times)]
            assert max(gaps) < PERIOD_S + 0.5

    run_in_yard(story)


def test_a_node_that_goes_is_renewed_no_more_and_a_new_one_of_its_name_is() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=LEASE_S):
            await world.node()
            await world.sleep(PERIOD_S)
            await world.delete("n", NODES)
            async with world.seen(LEASES) as changes:
                await world.sleep(60)
            assert changes == []
            node = await world.node()
            await world.sleep(PERIOD_S + 1)
            lease = await world.client.get(LEASES, "n", namespace=SPACE)
            assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]

    run_in_yard(story)


def test_a_lease_that_somebody_deleted_is_there_again() -> None:
    async def story(world: Yard) -> None:
        async with world.playing(lease_s=LEASE_S) as simulator:
            await world.node()
            await world.sleep(25)
            await world.client.delete(LEASES, "n", namespace=SPACE)
            await world.sleep(PERIOD_S + 2)
            assert (await world.client.get(LEASES, "n", namespace=SPACE))["spec"]["holderIdentity"] == "n"
            assert simulator.lag.contested == set()

    run_in_yard(story)


def test_after_an_outage_all_leases_are_renewed_and_their_phases_are_spread_as_before() -> None:
    async def story(world: Yard) -> None:
        for number in range(50):
            await world.node(f"n-{number}")
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S) as simulator:
            await world.sleep(20)
            simulator.connection.fate = lambda _method, path: failing(500) if is_of_lease(path) else None
            await world.sleep(60)
            simulator.connection.fate = None
            back_s = world.passed_s()
            await world.sleep(40)
            assert simulator.lag.late_leases == 50
            assert simulator.lag.lease.most_s > 45
        for name, times in renewals(changes).items():
            assert min(at_s for at_s in times if at_s > back_s) < back_s + 1.5, name
            assert times[-1] % PERIOD_S == pytest.approx(times[0] % PERIOD_S, abs=0.01), name

    run_in_yard(story)


def test_a_server_that_never_answers_one_lease_does_not_delay_the_others() -> None:
    async def story(world: Yard) -> None:
        for number in range(60):
            await world.node(f"n-{number}")
        async with world.seen(LEASES) as changes, world.playing(lease_s=LEASE_S) as simulator:
            await world.sleep(PERIOD_S)
            answer = simulator.connection.request

            async def stuck(method: str, path: str, *, timeout_s: float = 65.0, **more: Any) -> Response:
                if path.endswith(("leases/n-1", "leases/n-2")):
                    await world.sleep(timeout_s)
                    return failing(504)
                return await answer(method, path, timeout_s=timeout_s, **more)

            simulator.connection.request = stuck
            await world.sleep(60)
        for name, times in renewals(changes).items():
            if name not in {"n-1", "n-2"}:
                assert times[-1] > 60, name

    run_in_yard(story)


@pytest.mark.parametrize("losses", [1, 3])
def test_lost_answers_are_no_second_simulator(losses: int, caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: Yard) -> None:
        await world.node()
        async with world.playing(lease_s=LEASE_S) as simulator:
            left = 0

            def lose(method: str, path: str) -> Exception | None:
                nonlocal left
                if is_of_lease(path) and method != "GET" and left:
                    left -= 1
                    return lost()
                return None

            simulator.connection.after = lose
            for _ in range(5):
                left = losses
                await world.sleep(30)
            assert simulator.lag.contested == set()
            assert simulator.lag.retries >= 5 * losses
            assert simulator.lag.late_leases == 0

    run_in_yard(story)
    assert "two simulators" not in caplog.text


def test_two_simulators_for_one_node_are_noticed_by_both(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: Yard) -> None:
        for number in range(3):
            await world.node(f"n-{number}")
        async with world.playing(lease_s=LEASE_S) as first:
            await world.sleep(20)
            assert first.lag.contested == set()
            async with world.playing(lease_s=LEASE_S, seed=99) as second:
                await world.sleep(40)
                for simulator in (first, second):
                    assert simulator.lag.contested == {"n-0", "n-1", "n-2"}
                    assert "kubedyno_kubelet_contested_nodes 3" in simulator.lag.metrics()
                    assert simulator.lag.report().contested_nodes == 3

    with caplog.at_level(logging.WARNING):
        run_in_yard(story)
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2
    for warning in warnings:
        node = warning.split()[1]
        assert warning == (
            f"node {node} has two simulators: {node} renewed its lease beside us; end one of them, or give each nodes "
            "of its own"
        )


def test_a_simulator_that_comes_after_another_one_raises_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: Yard) -> None:
        await world.node()
        for _ in range(3):
            async with world.playing(lease_s=LEASE_S) as simulator:
                await world.sleep(25)
                assert simulator.lag.contested == set()
                assert simulator.lag.lease.most_s < 0.5

    run_in_yard(story)
    assert caplog.text == ""
