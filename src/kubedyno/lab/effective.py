"""Effective settings: what was configured is read from the running processes; a contradiction is an error."""

import re
from collections.abc import Iterable, Mapping

from kubedyno.kit.errors import EngineError
from kubedyno.lab.planning import LabPlan
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Component, flag_values
from kubedyno.plane.health import Prober
from kubedyno.plane.processes import Process

# What a path or an address is says nothing about how the component behaves.
_NOT_A_SETTING = re.compile(
    r"(file|address|addresses|port|urls|dir|servers|path|kubeconfig|-conf|^config|^initial-cluster)$"
)


async def effective_settings(plan: LabPlan, processes: Mapping[str, Process], prober: Prober) -> list[Setting]:
    """All settings of the lab's processes: what they report, and for the rest their command lines."""
    reported: list[Setting] = []
    if plan.scheduler is not None:
        own = [process.component for process in processes.values() if process.component.role == "scheduler"]
        reported = await plan.scheduler.read_back(own, prober, plan.site)
    known = {(setting.component, setting.field) for setting in reported}
    shown = [
        setting
        for name, process in processes.items()
        for setting in from_command_line(process.component, process.argv(), process.pid)
        if (name, setting.field) not in known
    ]
    return reported + shown


def from_command_line(component: Component, argv: tuple[str, ...], pid: int) -> list[Setting]:
    """The flags that the kernel says the process was started with, beside those of the plan."""
    running = flag_values(argv[1:])
    wanted = flag_values(component.args)
    return [
        Setting(
            component=component.name,
            field=field,
            wanted=value,
            value=running.get(field, "not on its command line"),
            evidence=Evidence.ARGV,
            source=f"/proc/{pid}/cmdline",
        )
        for field, value in wanted.items()
        if not _NOT_A_SETTING.search(field)
    ]


def refuse_contradictions(settings: Iterable[Setting]) -> None:
    """Raise when a component runs with another value than the one it was given."""
    wrong = [setting for setting in settings if setting.contradicted]
    if wrong:
        told = "; ".join(
            f"{one.component}.{one.field} was set to {one.wanted}, but {one.source} says {one.value}" for one in wrong
        )
        raise EngineError(f"a setting did not arrive: {told}; check the program that --bin-dir or the PATH gives")
