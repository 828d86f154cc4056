"""KAI's effective settings, from what its processes say themselves.

Client limits (`qps`, `burst`) appear in no endpoint of any process: for those the command line is all there is.
"""

import io
import re
import zipfile
from collections.abc import Iterable
from typing import Any

import msgspec

from kubedyno.kit.errors import EngineError
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Component, Probe, flag_values
from kubedyno.plane.ports import LOOPBACK
from kubedyno.schedulers.scheduler import Reader

_CONCURRENCY = re.compile(rb"^controller_runtime_max_concurrent_reconciles\{[^}]*\} (\S+)", re.MULTILINE)

# Fields of the scheduler's parameters by the flags that set them. Zero values are left out of the snapshot.
_SCHEDULER_PARAMETERS = {
    "max-consolidation-preemptees": "maxNumberConsolidationPreemptees",
    "schedule-period": "schedulePeriod",
    "use-scheduling-signatures": "useSchedulingSignatures",
    "full-hierarchy-fairness": "fullHierarchyFairness",
    "detailed-fit-errors": "detailedFitErrors",
    "allow-consolidating-reclaim": "allowConsolidatingReclaim",
}


async def reported(running: Iterable[Component], reader: Reader) -> list[Setting]:
    """What the processes report; a standby replica of the scheduler has no session and is left out."""
    found: list[Setting] = []
    for component in running:
        if component.program == "kai-scheduler" and component.ready is not None and component.ready.contains:
            found += await _scheduler(component, reader)
        elif component.program in {"kai-binder", "kai-podgrouper"}:
            found += await _controller(component, reader)
    return found


async def _scheduler(component: Component, reader: Reader) -> list[Setting]:
    name = component.name
    url = f"http://{LOOPBACK}:{component.ports['plugins']}/get-snapshot"
    snapshot = await reader.fetch(Probe(url=url))
    try:
        with zipfile.ZipFile(io.BytesIO(snapshot)) as archive:
            document = msgspec.json.decode(archive.read("snapshot.json"))
    except (zipfile.BadZipFile, KeyError, msgspec.DecodeError) as error:
        raise EngineError(f"{name}: {url} did not answer with a snapshot: {error}") from error
    parameters = document.get("schedulerParams") or {}
    wanted = flag_values(component.args)
    found = [
        Setting(
            component=name,
            field=flag,
            wanted=wanted.get(flag),
            value=_in_words(flag, parameters.get(field)),
            evidence=Evidence.REPORTED,
            source=url,
        )
        for flag, field in _SCHEDULER_PARAMETERS.items()
    ]
    actions = str((document.get("config") or {}).get("actions", ""))
    wanted_actions = component.files[0].text.partition("actions:")[2].partition("\n")[0].strip().strip("'\"")
    found.append(
        Setting(
            component=name,
            field="actions",
            wanted=wanted_actions,
            value=actions,
            evidence=Evidence.REPORTED,
            source=url,
        )
    )
    return found


async def _controller(component: Component, reader: Reader) -> list[Setting]:
    url = f"http://{LOOPBACK}:{component.ports['metrics']}/metrics"
    values = {float(value) for value in _CONCURRENCY.findall(await reader.fetch(Probe(url=url)))}
    return [
        Setting(
            component=component.name,
            field="max-concurrent-reconciles",
            wanted=flag_values(component.args).get("max-concurrent-reconciles"),
            value=f"{value:g}",
            evidence=Evidence.REPORTED,
            source=url,
        )
        for value in sorted(values)
    ]


def _in_words(flag: str, value: Any) -> str:
    """A parameter as its flag is written: durations come in nanoseconds, absent means zero or false."""
    if flag == "schedule-period":
        return f"{(value or 0) / 1e9:g}s"
    if value is None:
        return "0" if flag == "max-consolidation-preemptees" else "false"
    return str(value).lower() if isinstance(value, bool) else str(value)
