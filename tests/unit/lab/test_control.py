import asyncio
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kit import tasks
from kubedyno.kit.errors import EngineError
from kubedyno.lab import control

pytestmark = pytest.mark.unit


async def echo(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"heard": dict(request)}


async def test_a_request_is_answered_on_a_socket_of_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    path.write_text("left over from an owner that was killed")
    async with control.serve(path, echo):
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert await control.ask(path, {"ask": "status"}) == {"heard": {"ask": "status"}}
        answers = await asyncio.gather(*(control.ask(path, {"n": number}) for number in range(20)))
        assert answers == [{"heard": {"n": number}} for number in range(20)]
    assert not path.exists()


async def test_a_deep_folder_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 30) / ("er" * 60)
    folder.mkdir(parents=True)
    path = folder / "control.sock"
    assert len(str(path)) > 108
    async with control.serve(path, echo):
        assert await control.ask(path, {"ask": "x"}) == {"heard": {"ask": "x"}}


async def test_long_answers_arrive_whole(tmp_path: Path) -> None:
    settings = ["kube-apiserver.max-requests-inflight"] * 10_000

    async def talkative(_: Mapping[str, Any]) -> dict[str, Any]:
        return {"settings": settings}

    path = tmp_path / "control.sock"
    async with control.serve(path, talkative):
        assert await control.ask(path, {}) == {"settings": settings}


@pytest.mark.parametrize("nonsense", [b"", b"hello\n", b"[1]\n", b"x" * 200_000, b'{"half'])
async def test_nonsense_disturbs_nobody(tmp_path: Path, nonsense: bytes) -> None:
    path = tmp_path / "control.sock"
    complaints: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        async with control.serve(path, echo):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(nonsense)
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            assert await control.ask(path, {"ask": "x"}) == {"heard": {"ask": "x"}}
    finally:
        loop.set_exception_handler(None)
    assert complaints == []


async def test_a_silent_owner_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_ANSWER_WITHIN_S", 0.05)

    async def silent(_: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    path = tmp_path / "control.sock"
    async with control.serve(path, silent):
        with pytest.raises(EngineError) as caught:
            await control.ask(path, {"ask": "status"})
    assert str(caught.value) == f"the owner of the lab at {tmp_path} does not answer: TimeoutError"


async def test_nobody_there_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(EngineError) as caught:
            await control.ask(folder / "control.sock", {"ask": "status"})
        assert str(caught.value).startswith(f"the owner of the lab at {folder} does not answer: ")
        assert "No such file or directory" in str(caught.value)


async def test_an_owner_that_hangs_up_is_told(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(hang_up, path):
        with pytest.raises(EngineError) as caught:
            await control.ask(path, {"ask": "status"})
    assert str(caught.value).startswith(f"the owner of the lab at {tmp_path} does not answer: ")


def test_a_client_that_says_nothing_does_not_keep_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    async def main() -> list[str]:
        async with asyncio.timeout(10):
            async with control.serve(path, echo):
                _, writer = await asyncio.open_unix_connection(str(path))
                assert await control.ask(path, {"ask": "x"}) == {"heard": {"ask": "x"}}
            left = [
                task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()} if "handle" in repr(task)
            ]
            writer.close()
            return left

    assert tasks.run(main) == []
