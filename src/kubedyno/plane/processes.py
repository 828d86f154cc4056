"""One operating-system process: started so that it cannot outlive us, its log on disk, its end noticed at once."""

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil

import kubedyno
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import ProcessFailure
from kubedyno.plane.component import OWN_PROGRAM, Component

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_TAIL_BYTES = 16384
_TAIL_LINES = 6


def die_with(parent_pid: int) -> Callable[[], None]:
    """What a child runs before it becomes the program: be killed when the parent goes, however it goes.

    The parent may have died between fork and prctl; then nobody would ever send the signal, so the child leaves.
    """

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:
            os._exit(1)

    return prepare


def own_environment(component: Component) -> dict[str, str]:
    """What Python needs to find this package, where the component is kubedyno itself."""
    if component.program != OWN_PROGRAM:
        return {}
    return {"PYTHONPATH": str(Path(kubedyno.__file__).parents[1])}


class Process:
    """A running component."""

    def __init__(
        self, component: Component, child: asyncio.subprocess.Process, log: Path, log_start: int, clock: Clock
    ) -> None:
        self.component = component
        self.pid = child.pid
        self.log = log
        self.started_ns = clock.monotonic_ns()
        self._child = child
        self._clock = clock
        self._log_start = log_start

    @classmethod
    async def spawn(cls, component: Component, program: Path, folder: Path, clock: Clock) -> "Process":
        """Start the component's program; its output is appended to `logs/<name>.log`."""
        log = folder / "logs" / f"{component.name}.log"
        log.parent.mkdir(exist_ok=True)
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), **own_environment(component), **component.env}
        with log.open("ab") as sink:
            log_start = sink.tell()
            try:
                child = await asyncio.create_subprocess_exec(
                    program,
                    *component.args,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=sink,
                    stderr=sink,
                    env=env,
                    cwd=folder,
                    start_new_session=True,  # a ctrl-C in the terminal is ours to handle, not the child's
                    preexec_fn=die_with(os.getpid()),  # prctl and getppid only: no lock can be held
                )
            except OSError as error:
                raise ProcessFailure(
                    f"{component.name} could not be started: {program}: {error.strerror or error}; "
                    f"rebuild it with `kubedyno setup {component.program}` or name another with --bin-dir"
                ) from error
        return cls(component, child, log, log_start, clock)

    async def wait(self) -> int:
        """The exit code, once it has one (negative: the signal that ended it)."""
        return await self._child.wait()

    @property
    def code(self) -> int | None:
        """The exit code, if it has one by now."""
        return self._child.returncode

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.code is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal; a process that is gone is left alone."""
        if self.running:
            self._child.send_signal(number)

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when the component's time for it is over; returns when it is gone."""
        if not self.running:
            return
        self.send(signal.SIGCONT)  # a frozen process does not see SIGTERM
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(self.component.stop_timeout_s):
                await self.wait()
        except TimeoutError:
            self.send(signal.SIGKILL)
            await self.wait()

    def argv(self) -> tuple[str, ...]:
        """The command line as the kernel has it: what really reached the process."""
        try:
            return tuple(psutil.Process(self.pid).cmdline())
        except psutil.NoSuchProcess:
            return ()

    def failure(self, happened: str) -> ProcessFailure:
        """What went wrong, with the cause from the log and what to do."""
        lines = self.log_tail()
        cause, remedy = diagnose(self.component, lines)
        tail = "".join(f"\n  | {line}" for line in lines[-_TAIL_LINES:])
        after_s = (self._clock.monotonic_ns() - self.started_ns) / NS_PER_S
        return ProcessFailure(
            f"{self.component.name} {happened} after {after_s:.1f} s: {cause}; {remedy}. Log: {self.log}{tail}"
        )

    def log_tail(self) -> list[str]:
        """The last lines that this process wrote, some kilobytes of them."""
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._log_start, size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()]


def exit_words(code: int) -> str:
    """`exited with code 1`, or `was killed by SIGKILL`."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with code {code}"


def diagnose(component: Component, lines: list[str]) -> tuple[str, str]:
    """The probable cause and the remedy, from the last lines of a log."""
    text = "\n".join(lines)
    if "address already in use" in text:
        ports = ", ".join(str(port) for port in component.ports.values())
        return (
            f"another process took one of its ports ({ports}) meanwhile",
            "run the command again: it draws new ports",
        )
    if "no space left on device" in text.lower():
        return (
            "the disk is full",
            "free some space below the state folder, or set XDG_STATE_HOME to another disk",
        )
    if "unknown flag" in text or "flag provided but not defined" in text:
        flag = next(line for line in lines if "unknown flag" in line or "flag provided" in line)
        return flag.strip(), f"{component.program} has no such flag: see its --help"
    # A panic is followed by many lines of stack; the other words tend to come last.
    for words, lines_in_order in ((("panic:", "fatal error:"), lines), (("error", "fatal", "failed"), lines[::-1])):
        for line in lines_in_order:
            if any(word in line.lower() for word in words):
                return line.strip()[:300], "see the log"
    return (lines[-1].strip()[:300] if lines else "it wrote nothing"), "see the log"
