import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubedyno.kit import tasks
from kubedyno.kit.errors import EngineError, UsageError

pytestmark = pytest.mark.unit

# Says `ready`, then cleans up slowly when it is told to end; a line on its standard input lets the clean-up go on.
WORKER = """
import asyncio, sys
from kubedyno.kit import tasks

async def main():
    try:
        print("ready", flush=True)
        await asyncio.Event().wait()
    finally:
        print("cleaning", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print("clean", flush=True)

try:
    tasks.run(main)
except tasks.Interrupted:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cleans_up_and_a_second_one_is_ignored(first: signal.Signals, second: signal.Signals) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        worker.send_signal(first)
        assert worker.stdout.readline() == "cleaning\n"
        for _ in range(3):
            worker.send_signal(second)
        output, errors = worker.communicate("go on\n")
    assert output == "clean\ninterrupted\n"
    assert errors == ""
    assert worker.returncode == 0


def test_the_result_comes_back_and_the_handlers_are_gone() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    async def main() -> str:
        await asyncio.sleep(0)
        return "result"

    assert tasks.run(main) == "result"
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_errors_come_out_as_they_are() -> None:
    async def main() -> None:
        raise UsageError("wrong")

    with pytest.raises(UsageError, match=r"^wrong$"):
        tasks.run(main)


def test_a_cancellation_of_its_own_is_no_interruption() -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        tasks.run(main)


def test_interrupted_is_caught_by_no_ordinary_handler() -> None:
    assert not issubclass(tasks.Interrupted, Exception)


async def fail(error: BaseException) -> None:
    raise error


async def owning_all(*errors: BaseException) -> None:
    async with tasks.owning() as group:
        for error in errors:
            group.create_task(fail(error))


async def test_a_failing_task_ends_the_block_and_the_others_with_its_own_error() -> None:
    others_end: list[str] = []

    async def other() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            others_end.append("cancelled")

    error = EngineError("broke")

    async def block() -> None:
        async with tasks.owning() as group:
            group.create_task(other())
            await asyncio.sleep(0)
            group.create_task(fail(error))
            await asyncio.Event().wait()

    with pytest.raises(EngineError) as caught:
        await block()
    assert caught.value is error
    assert others_end == ["cancelled"]


async def late(error: BaseException, turns: int = 3) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)
    raise error


async def test_who_waited_for_a_task_that_failed_was_not_cancelled() -> None:
    async def outer() -> None:
        async with tasks.owning() as group:
            group.create_task(owning_all(EngineError("broke")))
            group.create_task(late(EngineError("broke later")))

    for block in (owning_all(EngineError("broke")), outer()):
        with pytest.raises(EngineError, match=r"^broke$"):
            await block
        assert not tasks.is_being_cancelled()
    await asyncio.sleep(0)


async def test_who_was_cancelled_while_he_waited_still_is_when_a_task_fails() -> None:
    seen: list[bool] = []

    async def fails_when_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise EngineError("broke")

    async def owner() -> None:
        try:
            async with tasks.owning() as group:
                group.create_task(fails_when_cancelled())
        except EngineError:
            seen.append(tasks.is_being_cancelled())

    task = asyncio.create_task(owner())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await task
    assert seen == [True]


async def test_tasks_that_tasks_create_are_awaited_too() -> None:
    ended: list[int] = []

    async with tasks.owning() as group:

        async def step(left: int) -> None:
            await asyncio.sleep(0)
            if left:
                group.create_task(step(left - 1))
            ended.append(left)

        group.create_task(step(3))
    assert ended == [3, 2, 1, 0]


async def test_of_several_errors_ours_goes_first() -> None:
    with pytest.raises(UsageError, match=r"^ours$"):
        await owning_all(RuntimeError("a stranger"), UsageError("ours"))


async def test_of_strangers_the_first_is_raised() -> None:
    with pytest.raises(KeyError, match="first"):
        await owning_all(KeyError("first"), RuntimeError("second"))


async def test_groups_within_groups_are_unwrapped_too() -> None:
    async def nested() -> None:
        async with asyncio.TaskGroup() as inner:
            inner.create_task(fail(OSError("a stranger")))
            inner.create_task(fail(UsageError("ours, deep down")))

    with pytest.raises(UsageError, match=r"^ours, deep down$"):
        async with tasks.owning() as group:
            group.create_task(nested())


async def test_the_cause_of_an_error_is_kept() -> None:
    error = EngineError("above")
    error.__cause__ = OSError("below")
    with pytest.raises(EngineError) as caught:
        await owning_all(error)
    assert isinstance(caught.value.__cause__, OSError)


async def test_an_error_of_the_block_itself_comes_out_unwrapped() -> None:
    with pytest.raises(UsageError, match=r"^mine$"):
        async with tasks.owning():
            raise UsageError("mine")


async def test_a_cancellation_from_outside_stays_one() -> None:
    entered = asyncio.Event()

    async def work() -> None:
        async with tasks.owning() as group:
            group.create_task(asyncio.Event().wait())
            entered.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await entered.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


def test_a_signal_during_start_up_of_a_child_leaves_no_child(tmp_path: Path) -> None:
    source = f"""
import asyncio, pathlib
from kubedyno.kit import tasks

async def main():
    child = await asyncio.create_subprocess_exec("sleep", "1000")
    pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(child.pid))
    print("ready", flush=True)
    try:
        await child.wait()
    finally:
        child.kill()
        await child.wait()

try:
    tasks.run(main)
except tasks.Interrupted:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        worker.send_signal(signal.SIGTERM)
        output, _ = worker.communicate()
    assert output == "interrupted\n"
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


async def test_a_closed_tls_connection_is_no_news_and_everything_else_is(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    closed = RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")
    tasks.report(loop, {"message": "Fatal error on SSL protocol", "exception": closed})
    assert caplog.records == []
    tasks.report(loop, {"message": "Fatal error on SSL protocol", "exception": OSError("bad record")})
    tasks.report(loop, {"message": "Task exception was never retrieved", "exception": closed})
    assert len(caplog.records) == 2
