"""Fake components: one small program that serves HTTP and misbehaves as its arguments say."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from kubedyno.client.errors import Unreachable
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import ProcessFailure
from kubedyno.plane.component import Component, File, Probe
from kubedyno.plane.health import Prober
from kubedyno.plane.identities import Pki
from kubedyno.plane.ports import LOOPBACK, free_ports
from kubedyno.plane.processes import Process
from kubedyno.plane.supervision import Supervisor, supervise

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]
Running = Callable[[int], bool]

# --print=TEXT says it, --exit=CODE leaves then; --deaf ignores SIGTERM; --when=FILE is healthy once FILE is there.
# What happens is appended to --events.
PROGRAM = f"""#!{sys.executable} -IS
import http.server, os, signal, sys

options = dict(arg[2:].partition("=")[::2] for arg in sys.argv[1:])

def happened(what):
    with open(options["events"], "a") as file:
        file.write(f"{{options['name']}} {{what}}\\n")

def end(number, frame):
    happened("told to stop")
    if "deaf" not in options:
        os._exit(0)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/exit":
            print("fatal: asked to leave", flush=True)
            os._exit(3)
        healthy = "when" not in options or os.path.exists(options["when"])
        happened("healthy" if healthy else "asked")
        self.send_response(200 if healthy else 503)
        self.end_headers()
        self.wfile.write(b"ok" if healthy else b"not yet")

    def log_message(self, *args):
        pass

signal.signal(signal.SIGTERM, end)
happened("started")
if "print" in options:
    print(options["print"], flush=True)
if "exit" in options:
    sys.exit(int(options["exit"]))
http.server.ThreadingHTTPServer(("127.0.0.1", int(options["port"])), Handler).serve_forever()
"""

draw = free_ports()


class World:
    """A folder with the fake program, and what happened in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    @property
    def events(self) -> list[str]:
        file = self.folder / "events"
        return file.read_text().splitlines() if file.exists() else []

    def count(self, event: str) -> int:
        return self.events.count(event)

    def component(self, name: str, *args: str, **more: Any) -> Component:
        port = draw()
        return Component(
            **{
                "name": name,
                "program": "fake",
                "args": (f"--name={name}", f"--events={self.folder / 'events'}", f"--port={port}", *args),
                "ports": {"serving": port},
                "ready": Probe(url=f"http://{LOOPBACK}:{port}/readyz", contains="ok"),
                **more,
            }
        )

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    @asynccontextmanager
    async def supervised(self) -> AsyncIterator[Supervisor]:
        async with (
            Prober(Pki(folder=self.folder / "none")) as prober,
            supervise(
                folder=self.folder, programs={"fake": self.program}, prober=prober, clock=RealClock()
            ) as supervisor,
        ):
            yield supervisor

    async def failing(self, *components: Component) -> str:
        """The sentence of a start that cannot succeed."""
        with pytest.raises(ProcessFailure) as caught:
            async with self.supervised() as supervisor:
                await supervisor.start(components)
        return str(caught.value)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def ask_to_exit(component: Component) -> None:
    reader, writer = await asyncio.open_connection(LOOPBACK, component.ports["serving"])
    writer.write(b"GET /exit HTTP/1.0\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        await reader.read()
    writer.close()


async def test_components_start_when_what_they_need_is_healthy(world: World, until: Until) -> None:
    gate = world.folder / "gate"
    first = world.component("first", f"--when={gate}")
    second = world.component("second", after=("first",))
    async with world.supervised() as supervisor:
        starting = asyncio.create_task(supervisor.start((second, first)))
        await until(lambda: world.count("first asked") >= 3)
        assert "second started" not in world.events
        assert not starting.done()
        gate.touch()
        await starting
        assert world.events.index("first healthy") < world.events.index("second started")
        assert set(supervisor.processes) == {"first", "second"}


async def test_dependants_are_stopped_first(world: World, is_running: Running) -> None:
    components = (
        world.component("store"),
        world.component("server", after=("store",)),
        world.component("client", after=("server",)),
    )
    async with world.supervised() as supervisor:
        await supervisor.start(components)
        pids = [process.pid for process in supervisor.processes.values()]
    stops = [event for event in world.events if event.endswith("told to stop")]
    assert stops == ["client told to stop", "server told to stop", "store told to stop"]
    assert not any(map(is_running, pids))


async def test_one_that_ignores_sigterm_is_killed(world: World, is_running: Running) -> None:
    async with world.supervised() as supervisor:
        await supervisor.start([world.component("deaf", "--deaf", stop_timeout_s=0.1)])
        pid = supervisor.processes["deaf"].pid
    assert world.count("deaf told to stop") == 1
    assert not is_running(pid)


async def test_an_error_of_the_block_stops_everything_and_comes_out(world: World, is_running: Running) -> None:
    pids: list[int] = []

    async def block() -> None:
        async with world.supervised() as supervisor:
            await supervisor.start([world.component("one")])
            pids.append(supervisor.processes["one"].pid)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await block()
    assert not is_running(pids[0])


async def test_an_exit_unasked_ends_the_block_with_the_tail_of_the_log(world: World, is_running: Running) -> None:
    lines = "\n".join(f"line {number}" for number in range(1, 10))
    dying = world.component("dying", f"--print={lines}")
    other = world.component("other")
    pids: list[int] = []

    async def block() -> None:
        async with world.supervised() as supervisor:
            await supervisor.start((dying, other))
            pids.append(supervisor.processes["other"].pid)
            await ask_to_exit(dying)
            await asyncio.Event().wait()

    with pytest.raises(ProcessFailure) as caught:
        await block()
    assert re.sub(r"\d+\.\d s", "N s", str(caught.value)) == (
        "dying exited with code 3 after N s: fatal: asked to leave; see the log. "
        f"Log: {world.log('dying')}\n"
        "  | line 5\n  | line 6\n  | line 7\n  | line 8\n  | line 9\n  | fatal: asked to leave"
    )
    assert not is_running(pids[0])


async def test_a_signal_that_ended_it_is_named(world: World) -> None:
    async def block() -> None:
        async with world.supervised() as supervisor:
            await supervisor.start([world.component("one")])
            psutil.Process(supervisor.processes["one"].pid).kill()
            await asyncio.Event().wait()

    with pytest.raises(ProcessFailure, match=r"^one was killed by SIGKILL after .* s: it wrote nothing; see the log\."):
        await block()


async def test_a_death_says_more_than_the_connections_that_it_breaks(world: World) -> None:
    async def block(*, dies: bool) -> None:
        async with world.supervised() as supervisor:
            await supervisor.start([world.component("one")])
            if dies:
                os.kill(supervisor.processes["one"].pid, signal.SIGKILL)
            raise Unreachable(server="https://here", cause="broke the connection", remedy="wait")

    with pytest.raises(ProcessFailure, match=r"^one was killed by SIGKILL"):
        await block(dies=True)
    with pytest.raises(Unreachable):
        await block(dies=False)


async def test_one_that_never_gets_healthy_is_told_with_what_it_said(world: World) -> None:
    slow = world.component("slow", "--print=still working", "--when=/nowhere", start_timeout_s=0.3)
    assert re.sub(r"\d+\.\d s", "N s", await world.failing(slow)) == (
        f"slow was not healthy (http://127.0.0.1:{slow.ports['serving']}/readyz: 503 not yet) after N s: "
        f"still working; see the log. Log: {world.log('slow')}\n  | still working"
    )


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "listen tcp 127.0.0.1:7: bind: address already in use",
            "another process took one of its ports (PORT) meanwhile; run the command again: it draws new ports",
        ),
        (
            "write /data/wal: No space left on device",
            "the disk is full; free some space below the state folder, or set XDG_STATE_HOME to another disk",
        ),
        ("Error: unknown flag: --nope", "Error: unknown flag: --nope; fake has no such flag: see its --help"),
        (
            "flag provided but not defined: -nope",
            "flag provided but not defined: -nope; fake has no such flag: see its --help",
        ),
        ("panic: oh no\ngoroutine 1 [running]:", "panic: oh no; see the log"),
        ("first\nlast", "last; see the log"),
        ("", "it wrote nothing; see the log"),
    ],
)
async def test_the_cause_is_found_in_the_log(world: World, said: str, sentence: str) -> None:
    component = world.component("one", f"--print={said}", "--exit=1")
    told = await world.failing(component)
    expected = sentence.replace("PORT", str(component.ports["serving"]))
    assert re.sub(r"\d+\.\d s", "N s", told.partition(" Log: ")[0]) == f"one exited with code 1 after N s: {expected}."


async def test_a_start_that_fails_stops_what_was_started(world: World, is_running: Running) -> None:
    first = world.component("first")
    second = world.component("second", "--exit=1", after=("first",))
    pids: list[int] = []

    async def block() -> None:
        async with world.supervised() as supervisor:
            await supervisor.start([first])
            pids.append(supervisor.processes["first"].pid)
            await supervisor.start([second])

    with pytest.raises(ProcessFailure, match=r"^second exited with code 1 "):
        await block()
    assert not is_running(pids[0])


@pytest.mark.parametrize(
    ("content", "mode", "cause"),
    [
        (None, 0, "No such file or directory"),
        (b"\x7fELF for another machine", 0o755, "Exec format error"),
        (b"", 0o755, "Exec format error"),
        (b"#!/no/such/interpreter\n", 0o755, "No such file or directory"),
        (b"#!/bin/sh\n", 0o644, "Permission denied"),
    ],
)
async def test_a_missing_or_broken_program_is_named(world: World, content: bytes | None, mode: int, cause: str) -> None:
    world.program = world.folder / "other"
    if content is not None:
        world.program.write_bytes(content)
        world.program.chmod(mode)
    assert await world.failing(world.component("one")) == (
        f"one could not be started: {world.program}: {cause}; "
        "rebuild it with `kubedyno setup fake` or name another with --bin-dir"
    )


async def test_a_replica_that_dies_is_told_and_the_rest_goes_on(world: World, until: Until) -> None:
    replicas = [world.component(f"server-{index}", replicated=True) for index in range(2)]
    async with world.supervised() as supervisor:
        await supervisor.start(replicas)
        await ask_to_exit(replicas[0])
        await until(lambda: supervisor.lost)
        assert list(supervisor.lost) == ["server-0"]
        assert supervisor.lost["server-0"].startswith("server-0 exited with code 3 after ")
        assert set(supervisor.processes) == {"server-1"}
        await supervisor.restart(["server-0"])
        assert supervisor.lost == {}
        assert set(supervisor.processes) == {"server-0", "server-1"}


async def test_a_replica_that_was_never_healthy_ends_the_block(world: World) -> None:
    assert (await world.failing(world.component("server-0", "--exit=1", replicated=True))).startswith(
        "server-0 exited with code 1 after "
    )


async def test_stopped_components_start_again_with_a_new_process(world: World, is_running: Running) -> None:
    async with world.supervised() as supervisor:
        await supervisor.start([world.component("one"), world.component("two")])
        first = supervisor.processes["one"].pid
        await supervisor.stop(["one", "unheard-of"])
        assert not is_running(first)
        assert set(supervisor.processes) == {"two"}
        await supervisor.restart(["one"])
        assert is_running(supervisor.processes["one"].pid)
        assert supervisor.processes["one"].pid != first
    assert world.count("one started") == 2


async def test_a_component_that_was_killed_on_purpose_is_no_failure(world: World, until: Until) -> None:
    async with world.supervised() as supervisor:
        await supervisor.start([world.component("one")])
        supervisor.kill("one")
        await until(lambda: not supervisor.processes)
        assert supervisor.lost == {}
        await supervisor.restart(["one"])
        assert set(supervisor.processes) == {"one"}


@pytest.mark.parametrize("dying_s", [0.0, 0.2])
def test_a_killed_component_can_be_started_again_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, dying_s: float
) -> None:
    send = Process.send

    def send_late(process: Process, number: signal.Signals) -> None:
        # A big process takes its time to die: as if the signal came late.
        asyncio.get_running_loop().call_later(dying_s, send, process, number)

    async def main() -> int:
        async with world.supervised() as supervisor:
            await supervisor.start([world.component("one")])
            for _ in range(3):
                with monkeypatch.context() as patch:
                    if dying_s:
                        patch.setattr(Process, "send", send_late)
                    supervisor.kill("one")
                await supervisor.restart(["one"])
            return len(supervisor.processes)

    assert tasks.run(main) == 1
    assert world.count("one started") == 4


async def test_the_command_line_is_what_the_kernel_has(world: World) -> None:
    one = world.component("one")
    async with world.supervised() as supervisor:
        await supervisor.start([one])
        process = supervisor.processes["one"]
        assert process.argv()[-3:] == one.args
        await supervisor.stop(["one"])
        assert process.argv() == ()


async def test_a_component_can_be_frozen_and_thawed(world: World, until: Until, is_running: Running) -> None:
    async with world.supervised() as supervisor:
        await supervisor.start([world.component("one")])
        process = psutil.Process(supervisor.processes["one"].pid)
        supervisor.send(["one"], signal.SIGSTOP)
        await until(lambda: process.status() == psutil.STATUS_STOPPED)
        supervisor.send(["one"], signal.SIGCONT)
        await until(lambda: process.status() != psutil.STATUS_STOPPED)
        supervisor.send(["one"], signal.SIGSTOP)
        await until(lambda: process.status() == psutil.STATUS_STOPPED)
    # A frozen one is thawed to be stopped: SIGKILL was not needed.
    assert world.count("one told to stop") == 1
    assert not is_running(process.pid)


async def test_files_and_environment_are_there_when_it_starts(
    world: World, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_USER", "hidden")
    script = world.folder / "program"
    script.write_text('#!/bin/sh\ncat "$1"; env; echo done; exec sleep 1000\n')
    config = world.folder / "config" / "deep.yaml"
    component = Component(
        name="one",
        program="fake",
        args=(str(config),),
        env={"KUBECONFIG": "/k"},
        files=(File(path=config, text="setting: 1\n", mode=0o640),),
    )
    async with world.supervised() as supervisor:
        await supervisor.start([component])
        await until(lambda: "done" in world.log("one").read_text())
    lines = world.log("one").read_text().splitlines()
    assert "setting: 1" in lines
    assert {"KUBECONFIG=/k", f"HOME={world.folder}", f"PWD={world.folder}"} <= set(lines)
    assert not [line for line in lines if "SECRET_OF_THE_USER" in line]
    assert config.stat().st_mode & 0o777 == 0o640


async def test_the_log_goes_on_after_a_restart_but_the_tail_is_of_the_last_process(world: World) -> None:
    async def block() -> None:
        async with world.supervised() as supervisor:
            one = world.component("one", "--print=hello")
            await supervisor.start([one])
            await supervisor.stop(["one"])
            await supervisor.restart(["one"])
            await ask_to_exit(one)
            await asyncio.Event().wait()

    with pytest.raises(ProcessFailure) as caught:
        await block()
    assert world.log("one").read_text().count("hello") == 2
    assert str(caught.value).endswith("\n  | hello\n  | fatal: asked to leave")


OWNER = """
import asyncio, pathlib, sys
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.plane.component import Component
from kubedyno.plane.health import Prober
from kubedyno.plane.identities import Pki
from kubedyno.plane.processes import Process
from kubedyno.plane.supervision import supervise

folder = pathlib.Path(sys.argv[1])

async def main():
    async with Prober(Pki(folder=folder)) as prober, supervise(
        folder=folder, programs={"sleep": "/bin/sleep"}, prober=prober, clock=RealClock()
    ) as supervisor:
        await supervisor.start([Component(name=f"c{n}", program="sleep", args=("1000",)) for n in range(3)])
        print(*(process.pid for process in supervisor.processes.values()), flush=True)
        await asyncio.Event().wait()

tasks.run(main)
"""


async def test_children_die_with_an_owner_that_is_killed(tmp_path: Path, until: Until, is_running: Running) -> None:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, tmp_path, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    pids = [int(pid) for pid in (await owner.stdout.readline()).split()]
    assert len(pids) == 3
    assert all(map(is_running, pids))
    owner.kill()
    await owner.wait()
    await until(lambda: not any(map(is_running, pids)))


async def test_who_falls_over_for_want_of_another_is_not_blamed(world: World) -> None:
    async def block() -> None:
        async with world.supervised() as supervisor:
            await supervisor.start([world.component("base"), world.component("middle", after=("base",))])
            top = world.component("top", "--print=fatal: base is gone", "--exit=1", after=("middle",), ready=None)
            await supervisor.start([top])
            supervisor.send(["base"], signal.SIGKILL)
            await asyncio.Event().wait()

    with pytest.raises(ProcessFailure, match=r"^base was killed by SIGKILL after "):
        await block()


async def test_who_falls_over_alone_is_blamed(world: World) -> None:
    async def block() -> None:
        async with world.supervised() as supervisor:
            top = world.component("top", "--print=fatal: no reason", "--exit=1", after=("base",), ready=None)
            await supervisor.start([world.component("base")])
            await supervisor.start([top])
            await asyncio.Event().wait()

    with pytest.raises(ProcessFailure, match=r"^top exited with code 1 after .*fatal: no reason"):
        await block()
