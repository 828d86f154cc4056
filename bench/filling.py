"""`run fill`: on the embedded engine against real KAI, at ten times the size, and what the instrument itself costs."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import hero
import msgspec
import polars as pl
from result import Result, against_ratio, against_value

from kubedyno.measure.host import INSTRUMENT
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.sim import mounting
from labs import state_folder

_NODES = 500
_LARGE_NODES = 5_000
_MEMORY_MIB = 16 * 1024


class _Filled(msgspec.Struct, frozen=True):
    """A run of the scenario: seconds of the whole command, and CPU seconds of each component."""

    took_s: float
    cpu_s: dict[str, float]
    measured: dict[str, float]


def fill() -> list[Result]:
    """500 nodes and 4,000 jobs by the whole command: embedded with the reference scheduler against local with KAI."""
    ours = _run("--nodes", str(_NODES))
    peer = _run("--nodes", str(_NODES), "--engine", "local", "--scheduler", "kai")
    own_s = sum(used_s for name, used_s in peer.cpu_s.items() if name in {INSTRUMENT, mounting.NAME})
    return [
        against_ratio("fill", [ours.took_s], [peer.took_s], unit="s", limit=0.1, better="lower", goal=0.05),
        against_value("fill-instrument", [100 * own_s / sum(peer.cpu_s.values())], unit="% of the CPU", limit=15),
    ]


def fill_large() -> list[Result]:
    """5,000 nodes and 40,000 jobs by the whole command, on the embedded engine."""
    return [
        against_value("fill-large", [_run("--nodes", str(_LARGE_NODES)).took_s], unit="s", limit=120, goal=60),
    ]


def hundred_thousand_nodes() -> list[Result]:
    """100,000 nodes in one process, and a gang of 10,000 GPUs in one zone of them, from its first pod to its last."""
    placed = _run("--heartbeats", "off", what=f"{Path(hero.__file__)}::hero")
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        against_value("nodes-100,000-memory", [peak_mib], unit="MiB", limit=_MEMORY_MIB),
        against_value("nodes-100,000-gang", [placed.measured[hero.PLACED]], unit="s", limit=2),
    ]


def _run(*options: str, what: str = "fill") -> _Filled:
    with state_folder() as env:
        out = Path(env["XDG_STATE_HOME"]) / "runs"
        begun_s = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "kubedyno", "run", what, "--out", str(out), "--json", *options],
            env=env,
            check=False,
            stdout=subprocess.PIPE,
        )
        took_s = time.monotonic() - begun_s
        record = msgspec.json.decode(done.stdout, type=RunRecord)
        if done.returncode:
            raise RuntimeError(f"the run ended with {done.returncode}: {record.trials[0].message}")
        folder = out / record.id / record.trials[0].folder
        trial = msgspec.json.decode((folder / "trial.json").read_bytes(), type=TrialRecord)
        series = pl.read_parquet(folder / "series.parquet")
    used = (
        series.filter(pl.col("series") == "cpu_s")
        .group_by("component")
        .agg((pl.col("value").max() - pl.col("value").min()).alias("used_s"))
    )
    return _Filled(
        took_s,
        {str(row["component"]): float(row["used_s"]) for row in used.to_dicts()},
        {one.name: one.value for one in trial.measurements},
    )
