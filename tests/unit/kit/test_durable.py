import asyncio
import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubedyno.kit import durable
from kubedyno.kit.durable import exclusive_lock, is_locked, write_atomic

pytestmark = pytest.mark.unit

HOLDER = """
import pathlib, sys
from kubedyno.kit.durable import exclusive_lock
with exclusive_lock(pathlib.Path(sys.argv[1])) as mine:
    print("holding" if mine else "free", flush=True)
    sys.stdin.read()
"""

WRITER = """
import pathlib, sys
from kubedyno.kit.durable import write_atomic
path = pathlib.Path(sys.argv[1])
number = 0
while True:
    number += 1
    write_atomic(path, f"{number}\\n" * 20000)
    if number == 3:
        print("writing", flush=True)
"""


@contextmanager
def child(source: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has said its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("data", "content"), [("text ü", "text ü".encode()), (b"\x00\xff", b"\x00\xff"), ("", b"")])
def test_the_whole_file_is_replaced(tmp_path: Path, data: bytes | str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_text("something longer that was there before")
    write_atomic(path, data)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_mode_holds_from_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text("old")
    path.chmod(0o644)
    seen: list[int] = []

    def look(descriptor: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))

    opened = os.open

    def opening(file: Path, flags: int, mode: int) -> int:
        descriptor = opened(file, flags, mode)
        look(descriptor)
        return descriptor

    monkeypatch.setattr(durable.os, "open", opening)
    monkeypatch.setattr(durable.os, "fsync", look)
    write_atomic(path, "secret", mode=0o600)
    assert seen == [0o600, 0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(durable.os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_name_that_cannot_be_taken_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomic(tmp_path / "folder", "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_a_reader_never_sees_a_part_even_of_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with child(WRITER, path) as writer:
        for _ in range(50):
            lines = path.read_text().splitlines()
            assert len(lines) == 20000
            assert len(set(lines)) == 1
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    lines = path.read_text().splitlines()
    assert len(lines) == 20000
    assert len(set(lines)) == 1


def test_a_lock_excludes_other_processes_and_dies_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "yet.lock"
    with child(HOLDER, path) as holder:
        with exclusive_lock(path, wait=False) as mine:
            assert not mine
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with exclusive_lock(path, wait=False) as mine:
            assert mine


ASKER = """
import pathlib, sys
from kubedyno.kit.durable import is_locked
path = pathlib.Path(sys.argv[1])
print("asking", flush=True)
while True:
    is_locked(path)
"""


def test_asking_for_a_lock_takes_nothing_from_those_who_want_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    with child(ASKER, path), child(ASKER, path):
        for _ in range(2000):
            with exclusive_lock(path, wait=False) as mine:
                assert mine
                assert is_locked(path)
            assert not is_locked(path)


def test_a_lock_excludes_this_process_too_and_is_freed_by_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def hold_and_fail() -> None:
        with exclusive_lock(path):
            with exclusive_lock(path, wait=False) as second:
                assert not second
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match=r"^inside$"):
        hold_and_fail()
    with exclusive_lock(path, wait=False) as mine:
        assert mine


async def test_who_waits_gets_the_lock_when_its_holder_is_done(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with child(HOLDER, path) as holder:

        def wait_for_it() -> bool:
            with exclusive_lock(path) as mine:
                return mine

        waiting = asyncio.create_task(asyncio.to_thread(wait_for_it))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert holder.stdin is not None
        holder.stdin.close()
        assert await waiting
