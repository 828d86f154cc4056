"""When actions begin, kind by kind, in virtual time."""

import asyncio
import functools
import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.config import (
    GlobalQpsLoad,
    Load,
    ParallelismLimitedLoad,
    PoissonLoad,
    QpsLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    SteppedLoad,
    TimeLimitedLoad,
    TuningSet,
)
from kubedyno.clusterloader.loading import tuning
from kubedyno.clusterloader.loading.tuning import Buckets, PlannedLoad
from kubedyno.kit import randomness
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.virtualtime import LoopClock, VirtualLoop

pytestmark = pytest.mark.unit

Result = TypeVar("Result")

RATES = st.floats(min_value=0.1, max_value=1000)
COUNTS = st.integers(min_value=1, max_value=60)
SPANS_S = st.floats(min_value=0.1, max_value=3600)


def virtually(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


class Stalling(LoopClock):
    """A clock that goes on while the loop is busy."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop())
        self._stalled_ns = 0

    def stall(self, for_s: float) -> None:
        self._stalled_ns += round(for_s * NS_PER_S)

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self._stalled_ns


class World:
    """Actions that note when they begin, and what was told of them."""

    def __init__(self, *, lasting_s: float = 0.0, seed: int = 0, buckets: Buckets | None = None) -> None:
        self.lasting_s = lasting_s
        self.clock = Stalling()
        self.buckets = buckets or Buckets()
        self.rng = randomness.stream(seed, "test")
        self.origin_ns = self.clock.monotonic_ns()
        self.begun: list[tuple[float, int]] = []
        self.late_s: list[float] = []
        self.running = self.most_running = self.most_tasks = 0

    @property
    def now_s(self) -> float:
        return (self.clock.monotonic_ns() - self.origin_ns) / NS_PER_S

    @property
    def times_s(self) -> list[float]:
        return [at_s for at_s, _ in self.begun]

    async def act(self, number: int) -> None:
        self.begun.append((self.now_s, number))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        self.most_tasks = max(self.most_tasks, len(asyncio.all_tasks()))
        if self.lasting_s:
            await self.clock.sleep(self.lasting_s)
        self.running -= 1

    def actions(self, count: int) -> list[tuning.Work]:
        return [functools.partial(self.act, number) for number in range(count)]

    async def begin(self, load: Load, actions: Sequence[tuning.Work], *, name: str = "set") -> float:
        """Returns when it was over."""
        await tuning.begin(
            actions,
            TuningSet(name, load),
            clock=self.clock,
            rng=self.rng,
            buckets=self.buckets,
            on_started=self.late_s.append,
        )
        return self.now_s


def begun(load: Load, count: int, *, lasting_s: float = 0.0, seed: int = 0) -> tuple[World, float]:
    """A phase of that many actions, and when it was over."""

    async def main() -> tuple[World, float]:
        world = World(lasting_s=lasting_s, seed=seed)
        return world, await world.begin(load, world.actions(count))

    return virtually(main)


@pytest.mark.parametrize(
    ("load", "expected", "end_s"),
    [
        (QpsLoad(4), [0, 0.25, 0.5, 0.75, 1.0], 1.25),
        (SteppedLoad(2, 10), [0, 0, 10, 10, 20], 20),
        (SteppedLoad(5, 10), [0, 0, 0, 0, 0], 10),
        (TimeLimitedLoad(20), [0, 4, 8, 12, 16], 20),
        (GlobalQpsLoad(2, 3), [0, 0, 0, 0.5, 1.0], 1.0),
        (ParallelismLimitedLoad(2), [0, 0, 0, 0, 0], 0),
    ],
)
def test_actions_begin_at_their_times(load: Load, expected: list[float], end_s: float) -> None:
    world, over_s = begun(load, 5)
    assert world.times_s == pytest.approx(expected)
    assert [number for _, number in world.begun] == [0, 1, 2, 3, 4]
    assert over_s == pytest.approx(end_s)
    assert world.late_s == pytest.approx([0] * 5)


def test_gaps_of_a_randomized_load_are_drawn_up_to_twice_the_average() -> None:
    world, over_s = begun(RandomizedLoad(10), 4000)
    gaps_s = [after - before for before, after in itertools.pairwise([*world.times_s, over_s])]
    assert world.times_s[0] == 0
    assert min(gaps_s) >= 0
    assert max(gaps_s) < 0.2
    assert sum(gaps_s) / len(gaps_s) == pytest.approx(0.1, rel=0.03)
    assert sum(gap_s < 0.05 for gap_s in gaps_s) / len(gaps_s) == pytest.approx(0.25, abs=0.03)


def test_each_action_has_a_moment_of_its_own_in_a_randomized_time() -> None:
    world, over_s = begun(RandomizedTimeLimitedLoad(60), 3000)
    assert world.times_s == sorted(world.times_s)
    assert over_s == pytest.approx(world.times_s[-1])
    assert over_s < 60
    assert sum(world.times_s) / 3000 == pytest.approx(30, rel=0.05)
    numbers = [number for _, number in world.begun]
    assert sorted(numbers) == list(range(3000))
    assert sum(numbers[:1000]) / 1000 == pytest.approx(1500, rel=0.1), "the first third is of all actions alike"


def test_a_poisson_load_begins_at_once_and_ends_with_its_last_action() -> None:
    world, over_s = begun(PoissonLoad(20), 5001)
    assert world.times_s[0] == 0
    assert over_s == pytest.approx(world.times_s[-1])
    assert over_s == pytest.approx(250, rel=0.05)
    gaps_s = [after - before for before, after in itertools.pairwise(world.times_s)]
    assert sum(gap_s > 0.05 for gap_s in gaps_s) / len(gaps_s) == pytest.approx(0.368, abs=0.03)


@pytest.mark.parametrize("load", [RandomizedLoad(10), RandomizedTimeLimitedLoad(60), PoissonLoad(20)])
def test_draws_repeat_by_seed(load: Load) -> None:
    first, again, other = (begun(load, 50, seed=seed)[0].begun for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_five_hundred_a_second_are_held() -> None:
    world, over_s = begun(QpsLoad(500), 5000, lasting_s=0.3)
    assert world.times_s[-1] == pytest.approx(9.998)
    assert over_s == pytest.approx(10.298), "the last action ends after the last gap"
    assert begun(QpsLoad(500), 5000)[1] == pytest.approx(10)


@pytest.mark.parametrize(
    "load",
    [QpsLoad(10), RandomizedLoad(10), SteppedLoad(1, 0.1), TimeLimitedLoad(2), GlobalQpsLoad(10, 1), PoissonLoad(10)],
)
def test_actions_do_not_wait_for_those_before(load: Load) -> None:
    slow, over_s = begun(load, 20, lasting_s=100)
    assert slow.times_s == pytest.approx(begun(load, 20)[0].times_s)
    assert over_s == pytest.approx(slow.times_s[-1] + 100)


@pytest.mark.parametrize(
    "load", [QpsLoad(1000), TimeLimitedLoad(100), RandomizedTimeLimitedLoad(100), ParallelismLimitedLoad(5)]
)
def test_an_action_is_no_task_before_its_time(load: Load) -> None:
    world, _ = begun(load, 5000)
    assert len(world.begun) == 5000
    assert world.most_tasks < 20


def test_a_burst_lets_its_first_actions_go_on() -> None:
    async def main() -> list[int]:
        world = World()
        ends: list[int] = []

        async def action() -> None:
            await world.act(0)
            await asyncio.sleep(0)
            ends.append(len(world.begun))

        await world.begin(SteppedLoad(10_000, 1), [action] * 10_000)
        return ends

    assert virtually(main)[0] < 1000


@pytest.mark.parametrize("load", [QpsLoad(10), PoissonLoad(10), TimeLimitedLoad(4)])
def test_who_is_late_says_so_and_catches_up(load: PlannedLoad) -> None:
    async def main() -> None:
        plan_s = list(itertools.islice(tuning.times_s(load, 40, randomness.stream(7, "test")), 40))
        world = World(seed=7)
        actions = world.actions(40)

        async def stalling() -> None:
            await world.act(3)
            world.clock.stall(1.5)

        actions[3] = stalling
        await world.begin(load, actions)
        until_s = plan_s[4] + 1.5  # who begins it had gone to sleep before
        assert world.times_s == pytest.approx([at_s if n <= 3 else max(at_s, until_s) for n, at_s in enumerate(plan_s)])
        lateness_s = [after - at_s for after, at_s in zip(world.times_s, plan_s, strict=True)]
        assert world.late_s == pytest.approx(lateness_s, abs=1e-6)
        assert max(world.late_s) > 1

    virtually(main)


def test_phases_share_a_bucket_by_the_name_of_their_tuning_set() -> None:
    async def main() -> tuple[World, World, World, float]:
        buckets = Buckets()
        one, two, other = (World(buckets=buckets) for _ in range(3))
        load = GlobalQpsLoad(10, 5)
        async with asyncio.TaskGroup() as group:
            group.create_task(one.begin(load, one.actions(20)))
            group.create_task(two.begin(load, two.actions(20)))
            group.create_task(other.begin(load, other.actions(20), name="other"))
        together_s = one.now_s
        await one.begin(load, one.actions(1))
        return one, two, other, together_s

    one, two, other, together_s = virtually(main)
    assert together_s == pytest.approx(3.5), "forty actions, five of them at once"
    assert other.times_s[-1] == pytest.approx(1.5)
    assert sorted(one.times_s[:20] + two.times_s)[5:] == pytest.approx([n / 10 for n in range(1, 36)])
    assert one.times_s[20] == pytest.approx(3.6), "what an earlier phase has used up is not there for a later one"


def test_what_an_action_raises_ends_all_as_it_is() -> None:
    async def main() -> World:
        world = World(lasting_s=50)

        async def broken() -> None:
            raise LookupError("a defect")

        with pytest.raises(LookupError, match="a defect"):
            await world.begin(QpsLoad(1), [*world.actions(3), broken, *world.actions(3)])
        assert world.now_s == pytest.approx(3)
        return world

    assert virtually(main).times_s == pytest.approx([0, 1, 2])


@pytest.mark.parametrize("load", [TimeLimitedLoad(60), QpsLoad(1), ParallelismLimitedLoad(3)])
def test_nothing_to_do_takes_no_time(load: Load) -> None:
    world, over_s = begun(load, 0)
    assert (world.begun, world.late_s, over_s) == ([], [], 0)


@given(rate=RATES, count=COUNTS, lasting_s=st.floats(min_value=0, max_value=10))
def test_a_rate_is_kept_at_every_moment(rate: float, count: int, lasting_s: float) -> None:
    world, over_s = begun(QpsLoad(rate), count, lasting_s=lasting_s)
    assert world.times_s == pytest.approx([n / rate for n in range(count)], abs=1e-6)
    assert over_s == pytest.approx(max(count / rate, (count - 1) / rate + lasting_s), abs=1e-6)


@given(size=st.integers(min_value=1, max_value=70), delay_s=SPANS_S, count=COUNTS)
def test_steps_are_full_but_for_the_last(size: int, delay_s: float, count: int) -> None:
    world, over_s = begun(SteppedLoad(size, delay_s), count)
    steps = [len(list(step)) for _, step in itertools.groupby(round(at_s / delay_s) for at_s in world.times_s)]
    assert steps[:-1] == [size] * (len(steps) - 1)
    assert over_s == pytest.approx(count // size * delay_s)


@given(qps=RATES, burst=st.integers(min_value=1, max_value=20), counts=st.lists(COUNTS, min_size=1, max_size=3))
def test_no_more_begin_than_the_bucket_allows(qps: float, burst: int, counts: list[int]) -> None:
    async def main() -> list[float]:
        world = World()
        async with asyncio.TaskGroup() as group:
            for count in counts:
                group.create_task(world.begin(GlobalQpsLoad(qps, burst), world.actions(count)))
        return sorted(world.times_s)

    times_s = virtually(main)
    assert len(times_s) == sum(counts)
    assert all(number <= burst + qps * at_s + 1e-3 for number, at_s in enumerate(times_s, 1))
    assert times_s[-1] == pytest.approx(max(0, sum(counts) - burst) / qps, abs=1e-3)


@given(limit=st.integers(min_value=1, max_value=20), count=COUNTS, seed=st.integers())
def test_a_pool_is_never_fuller_than_its_size_and_never_idle(limit: int, count: int, seed: int) -> None:
    world, over_s = begun(ParallelismLimitedLoad(limit), count, lasting_s=2, seed=seed)
    assert world.most_running == min(limit, count)
    assert [number for _, number in world.begun] == list(range(count))
    assert over_s == pytest.approx(-(-count // limit) * 2)
    assert world.late_s == [0] * count


@given(
    load=st.one_of(
        st.builds(QpsLoad, RATES),
        st.builds(RandomizedLoad, RATES),
        st.builds(SteppedLoad, st.integers(min_value=1, max_value=70), SPANS_S),
        st.builds(TimeLimitedLoad, SPANS_S),
        st.builds(RandomizedTimeLimitedLoad, SPANS_S),
        st.builds(PoissonLoad, RATES),
    ),
    count=COUNTS,
    seed=st.integers(),
)
def test_a_plan_ascends_and_has_a_time_for_each_action(load: PlannedLoad, count: int, seed: int) -> None:
    times_s = list(tuning.times_s(load, count, randomness.stream(seed, "test")))
    assert len(times_s) in {count, count + 1}
    assert times_s == sorted(times_s)
    assert times_s[0] == 0 or isinstance(load, RandomizedTimeLimitedLoad)
    if isinstance(load, TimeLimitedLoad | RandomizedTimeLimitedLoad):
        assert times_s[-1] <= load.time_limit_s + 1e-6


@pytest.mark.parametrize(
    ("load", "planned_s"),
    [
        (QpsLoad(50), 2.0),
        (TimeLimitedLoad(7.0), 7.0),
        (SteppedLoad(30, 2.0), 6.0),
        (GlobalQpsLoad(10, 40), 6.0),
        (GlobalQpsLoad(10, 400), 0.0),
        (PoissonLoad(10), None),
        (ParallelismLimitedLoad(4), None),
    ],
)
def test_what_a_phase_takes_by_its_tuning_set_is_known_unless_chance_decides(
    load: Load, planned_s: float | None
) -> None:
    assert tuning.planned_s(load, 100) == planned_s
