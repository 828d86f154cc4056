import asyncio
import os
import subprocess

import psutil
import pytest

from kubedyno.kit.clock import VirtualClock
from kubedyno.measure import host
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.host import INSTRUMENT, Load, Usage

pytestmark = pytest.mark.unit


def burn() -> None:
    """Use CPU until the kernel has counted it."""
    process = psutil.Process()
    begun_s = sum(process.cpu_times()[:2])
    while sum(process.cpu_times()[:2]) < begun_s + 0.03:
        sum(range(10_000))


def test_the_instrument_sees_itself() -> None:
    usage = Usage(dict, VirtualClock(start_ns=5))
    usage.sample()
    burn()
    usage.sample()
    assert [(row.time_ns, row.series, row.component) for row in usage.rows] == [
        (5, "cpu_s", INSTRUMENT),
        (5, "memory_bytes", INSTRUMENT),
    ] * 2
    assert usage.rows[1].value == pytest.approx(psutil.Process().memory_info().rss, rel=0.5)
    assert usage.cpu_used_s(INSTRUMENT) > 0.02
    assert usage.cpu_used_s("nobody") == 0.0


def test_a_process_that_is_gone_is_left_out() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    usage = Usage(lambda: {"gone": gone.pid, "there": os.getppid()}, VirtualClock())
    usage.sample()
    assert {row.component for row in usage.rows} == {"there", INSTRUMENT}


async def test_it_samples_until_it_is_cancelled() -> None:
    clock = VirtualClock()
    usage = Usage(dict, clock)
    following = asyncio.create_task(usage.follow())
    for _ in range(3):
        await asyncio.sleep(0)
        clock.advance_to_next()
        await asyncio.sleep(0)
    following.cancel()
    times_s = sorted({row.time_ns / 1e9 for row in usage.rows})
    assert times_s[:3] == [0.0, 0.5, 1.0]
    assert all(isinstance(row, SeriesRow) for row in usage.rows)


def test_the_machine_is_described() -> None:
    found = host.describe()
    assert 1 <= found.cores <= (os.cpu_count() or 1)
    assert found.memory_bytes > 0
    assert found.kernel.startswith("Linux ")
    assert found.python.startswith("3.")


def test_a_process_that_was_started_anew_counts_from_zero_again() -> None:
    usage = Usage(dict, VirtualClock())
    for second, used_s in enumerate([1.0, 3.0, 0.5, 1.5]):
        usage.rows.append(SeriesRow(second, "cpu_s", "scheduler", used_s))
    assert usage.cpu_used_s("scheduler") == 2.0 + 0.5 + 1.0
    assert usage.cpu_used_s("scheduler", since_ns=2) == 1.0
    assert usage.cpu_used_s("scheduler", until_ns=1) == 2.0
    assert usage.components() == ["scheduler"]


def test_the_load_of_the_host_is_the_part_of_its_cores_that_is_busy() -> None:
    load = Load(VirtualClock(start_ns=7))
    load.sample()
    assert load.busy() == []
    burn()
    load.sample()
    assert all(0 <= share <= 1 for share in load.busy())
    assert load.busy_s() >= 0
    assert load.busy(since_ns=8) == []
    assert load.busy_s(since_ns=8) == 0.0
    assert {row.series for row in load.rows} <= {"host_busy", "host_busy_s"}
