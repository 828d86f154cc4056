import os
import sys
from pathlib import Path

import pytest

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import EngineError
from kubedyno.lab import planning
from kubedyno.lab.effective import effective_settings, from_command_line, refuse_contradictions
from kubedyno.lab.spec import LabSpec
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Component
from kubedyno.plane.health import Prober
from kubedyno.plane.identities import Pki
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.processes import Process

pytestmark = pytest.mark.unit

COMPONENT = Component(
    name="binder",
    program="kai-binder",
    args=("--qps=20", "--enable", "--kubeconfig=/k", "--bind-address=127.0.0.1", "--data-dir=/d", "--secure-port=1"),
)


def test_flags_are_compared_with_the_command_line_of_the_kernel() -> None:
    assert from_command_line(COMPONENT, ("/bin/binder", "--qps=20", "-enable"), 42) == [
        Setting(
            component="binder",
            field="qps",
            wanted="20",
            value="20",
            evidence=Evidence.ARGV,
            source="/proc/42/cmdline",
        ),
        Setting(
            component="binder",
            field="enable",
            wanted="",
            value="",
            evidence=Evidence.ARGV,
            source="/proc/42/cmdline",
        ),
    ]


def test_a_flag_that_is_not_there_is_told() -> None:
    settings = from_command_line(COMPONENT, ("/bin/binder", "--enable"), 42)
    with pytest.raises(EngineError) as caught:
        refuse_contradictions(settings)
    assert str(caught.value) == (
        "a setting did not arrive: binder.qps was set to 20, but /proc/42/cmdline says not on its command line; "
        "check the program that --bin-dir or the PATH gives"
    )


def test_several_contradictions_are_told_in_one_sentence() -> None:
    settings = from_command_line(
        Component(name="c", program="p", args=("--a=1", "--b=2", "--c=3")), ("p", "--a=9", "--b=2.0", "--c=8"), 7
    )
    with pytest.raises(EngineError) as caught:
        refuse_contradictions(settings)
    assert str(caught.value) == (
        "a setting did not arrive: c.a was set to 1, but /proc/7/cmdline says 9; "
        "c.c was set to 3, but /proc/7/cmdline says 8; check the program that --bin-dir or the PATH gives"
    )


def test_what_nobody_asked_for_contradicts_nothing() -> None:
    refuse_contradictions(
        [Setting(component="c", field="f", wanted=None, value="x", evidence=Evidence.REPORTED, source="url")]
    )


async def test_a_running_process_shows_its_own_command_line(tmp_path: Path) -> None:
    plan = planning.plan(LabSpec(name="lab"), folder=tmp_path, draw_port=counted_ports(10000))
    # `exec -a` would be a shell's way; here the program is a script that ignores its flags.
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable} -IS\nimport signal\nsignal.pause()\n")
    program.chmod(0o755)
    component = Component(name="kwok", program="kwok", args=("--node-lease-duration-seconds=200", "--config=/a"))
    process = await Process.spawn(component, program, tmp_path, RealClock())
    try:
        async with Prober(Pki(folder=tmp_path)) as prober:
            settings = await effective_settings(plan, {"kwok": process}, prober)
    finally:
        await process.stop()
    assert settings == [
        Setting(
            component="kwok",
            field="node-lease-duration-seconds",
            wanted="200",
            value="200",
            evidence=Evidence.ARGV,
            source=f"/proc/{process.pid}/cmdline",
        )
    ]
    assert process.pid != os.getpid()
    refuse_contradictions(settings)
