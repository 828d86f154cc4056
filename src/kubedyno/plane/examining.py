"""What this machine can run: findings with a fix for each, for `kubedyno doctor`.

`judge` is pure: facts in, findings out; `gather` asks the machine.
"""

import os
import platform
import resource
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
import psutil

from kubedyno.client import versions
from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError
from kubedyno.kit.units import format_bytes
from kubedyno.plane.failures import complaint
from kubedyno.plane.finding import Found, Missing
from kubedyno.plane.layout import log_file
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.programs import PROGRAMS, required_go
from kubedyno.plane.provisioning import inspect
from kubedyno.plane.toolchain import find_toolchain

State = Literal["ok", "warning", "broken"]

_GIB = 1024**3
_DISK_NEEDED_BYTES = 8 * _GIB  # Go's own caches while building, then about 1 GiB of programs
_DISK_TIGHT_BYTES = 2 * _GIB  # enough to run what is built
_MEMORY_NEEDED_BYTES = 4 * _GIB
_CORES_NEEDED = 2
_FILES_NEEDED = 4096  # an API server with thousands of watches, and our own connections
_PROCESSES_NEEDED = 1024


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: State
    value: str
    fix: str = ""
    """What to do; empty when all is well."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine says of itself."""

    python: str
    system: str
    cores: int
    memory_bytes: int
    disk_free_bytes: dict[str, int]
    """Free bytes by folder."""
    open_files: int
    """Soft limit; -1 is unlimited."""
    processes: int
    loopback_problem: str
    """Why no port could be had; empty when one could."""
    go: str | None
    """Version and path of a usable Go."""
    programs: tuple[Found | Missing, ...]
    complaints: dict[str, str] = {}
    """Why the last build of a program that is not there failed, by its name."""


async def gather(*, cache: Path, state: Path, bin_dir: Path | None, env: Mapping[str, str]) -> Facts:
    """Ask the machine; nothing is installed or changed."""
    toolchain = await find_toolchain(cache=cache, env=env)
    programs = tuple(await inspect(tuple(PROGRAMS), bin_dir=bin_dir, cache=cache, env=env))
    return Facts(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        disk_free_bytes={str(folder): _free_bytes(folder) for folder in dict.fromkeys((cache, state))},
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        processes=resource.getrlimit(resource.RLIMIT_NPROC)[0],
        loopback_problem=_loopback_problem(),
        go=f"{toolchain.version} ({toolchain.go})" if toolchain else None,
        programs=programs,
        complaints={
            item.name: said
            for item in programs
            if isinstance(item, Missing) and (said := complaint(log_file(PROGRAMS[item.name], cache)))
        },
    )


async def cluster(access: Access) -> Finding:
    """Whether the API server answers, and which version it is."""
    try:
        async with Client.connect(access) as client:
            version = await versions.server_version(client)
    except EngineError as error:
        return Finding(name="cluster", state="broken", value=str(error), fix="check the kubeconfig and the network")
    return Finding(name="cluster", state="ok", value=f"{version or 'unknown'} at {access.server}")


def judge(facts: Facts) -> list[Finding]:
    """What the facts mean for running labs."""
    findings = [
        Finding(name="Python", state="ok", value=facts.python),
        _at_least(
            "system",
            facts.system,
            good=facts.system.startswith("Linux"),
            fix="run it on Linux: the programs and the parent-death signal need it",
        ),
        _at_least(
            "cores", str(facts.cores), good=facts.cores >= _CORES_NEEDED, fix="use two cores or more", bad="warning"
        ),
        _at_least(
            "memory",
            format_bytes(facts.memory_bytes),
            good=facts.memory_bytes >= _MEMORY_NEEDED_BYTES,
            fix=f"use a machine with {format_bytes(_MEMORY_NEEDED_BYTES)} or more",
            bad="warning",
        ),
    ]
    findings += [_disk(folder, free, facts) for folder, free in facts.disk_free_bytes.items()]
    findings.append(_limit("open files", facts.open_files, _FILES_NEEDED, "ulimit -n 65536"))
    findings.append(_limit("processes", facts.processes, _PROCESSES_NEEDED, "ulimit -u 4096"))
    findings.append(
        _at_least(
            "loopback ports",
            facts.loopback_problem or "free",
            good=not facts.loopback_problem,
            fix="check the loopback interface (`ip addr show lo`) and net.ipv4.ip_local_port_range",
        )
    )
    findings.append(
        Finding(name="Go", state="ok", value=facts.go)
        if facts.go
        else Finding(
            name="Go",
            state="ok",
            value=f"none from {required_go()} on; `kubedyno setup` brings its own when it has to build",
        )
    )
    findings += [_program(item, facts.complaints.get(item.name, "")) for item in facts.programs]
    return findings


def _program(item: Found | Missing, failure: str) -> Finding:
    if isinstance(item, Found):
        return Finding(name=item.name, state="ok", value=f"{item.version} from {item.source}: {item.path}")
    passed_over = f" (passed over: {'; '.join(item.skipped)})" if item.skipped else ""
    failed = f"; it could not be built: {failure}" if failure else ""
    return Finding(
        name=item.name,
        state="warning",
        value=f"{item.version} is not there{passed_over}{failed}",
        fix=f"`kubedyno setup {item.name}`",
    )


def _disk(folder: str, free_bytes: int, facts: Facts) -> Finding:
    needed = _DISK_NEEDED_BYTES if any(isinstance(item, Missing) for item in facts.programs) else _DISK_TIGHT_BYTES
    return _at_least(
        f"disk of {folder}",
        f"{format_bytes(free_bytes)} free",
        good=free_bytes >= needed,
        fix=f"free {format_bytes(needed)} there, or set XDG_CACHE_HOME and XDG_STATE_HOME to another disk",
    )


def _limit(what: str, value: int, needed: int, fix: str) -> Finding:
    unlimited = value == resource.RLIM_INFINITY
    return _at_least(
        f"limit of {what}",
        "unlimited" if unlimited else str(value),
        good=unlimited or value >= needed,
        fix=f"`{fix}` in the shell, or raise it in /etc/security/limits.conf",
    )


def _at_least(name: str, value: str, *, good: bool, fix: str, bad: State = "broken") -> Finding:
    return Finding(name=name, state="ok", value=value) if good else Finding(name=name, state=bad, value=value, fix=fix)


def _free_bytes(folder: Path) -> int:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return shutil.disk_usage(there).free


def _loopback_problem() -> str:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((LOOPBACK, 0))
            probe.listen()
    except OSError as error:
        return str(error.strerror)
    return ""
