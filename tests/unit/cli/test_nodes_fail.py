"""`kubedyno nodes fail` and `recover`, as a user calls them, on an API server in this process."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from kubedyno import cli
from kubedyno.cli import nodes_fail
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab import selecting
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import marks
from kubedyno.sim.faults import asking, fault

pytestmark = pytest.mark.unit

DEVICES = '{"count": 8, "model": "H100"}'
RACK = "cloud.provider.com/topology-rack"


class Terminal:
    """Somebody who calls `kubedyno nodes` and looks at the nodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self._clock = RealClock()
        self._api = new_api(clock=self._clock, seed=0)
        self.selection: selecting.Selection | None = None

    @asynccontextmanager
    async def selected(self, selection: selecting.Selection, **_: Any) -> AsyncIterator[Client]:
        self.selection = selection
        yield Client(InProcess(self._api, clock=self._clock), clock=self._clock)

    def call(self, *args: str, code: int = 0) -> list[str]:
        """The lines that were printed; of a failure the sentence."""
        self._monkeypatch.setattr(sys, "argv", ["kubedyno", "nodes", *args])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self._capsys.readouterr()
        assert int(ended.value.code or 0) == code, printed
        return (printed.err if code else printed.out).splitlines()

    def nodes(self) -> dict[str, Object]:
        async def look() -> list[Object]:
            async with self.selected(selecting.Selection()) as client:
                return (await client.list_all(NODES)).items

        return {node["metadata"]["name"]: node for node in tasks.run(look)}

    def faults(self) -> dict[str, list[str]]:
        found = {name: [one.kind for one in fault.of(node)] for name, node in self.nodes().items()}
        return {name: kinds for name, kinds in found.items() if kinds}

    def add_nodes(self) -> None:
        """Two racks of two nodes."""

        async def create() -> None:
            async with self.selected(selecting.Selection()) as client:
                for index in range(4):
                    labels = {marks.POOL: "gpu", RACK: f"rack-{index // 2}"}
                    metadata = {"name": f"gpu-{index}", "labels": labels, "annotations": {marks.DEVICES: DEVICES}}
                    await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": metadata})

        tasks.run(create)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    somebody = Terminal(monkeypatch, capsys)
    monkeypatch.setattr(selecting, "selected", somebody.selected)
    somebody.add_nodes()
    return somebody


def told(line: str) -> str:
    """A line without its time and the width of its columns."""
    return " ".join(line.split()[1:])


def test_a_fault_stays_until_it_is_recovered(terminal: Terminal) -> None:
    (line,) = terminal.call("fail", "crash", "gpu-1", "gpu-3")
    assert told(line) == "failed crash gpu-1, gpu-3"
    assert terminal.faults() == {"gpu-1": ["crash"], "gpu-3": ["crash"]}
    (line,) = terminal.call("recover", "gpu-1")
    assert told(line) == "recovered all gpu-1"
    assert terminal.faults() == {"gpu-3": ["crash"]}


def test_whole_racks_fail_one_line_each(terminal: Terminal) -> None:
    lines = terminal.call("fail", "not-ready", "--cause", "runtime", "--pool", "gpu", "--by", "rack")
    assert sorted(map(told, lines)) == [
        "failed not-ready rack-0 (gpu-0, gpu-1)",
        "failed not-ready rack-1 (gpu-2, gpu-3)",
    ]
    assert len(terminal.faults()) == 4


def test_a_fault_for_a_time_is_gone_when_the_command_ends(terminal: Terminal) -> None:
    failed, recovered = terminal.call("fail", "gpu-lost", "--gpus", "0,7", "--in", "rack=rack-1", "--for", "20ms")
    assert " until " in failed
    assert told(recovered) == "recovered gpu-lost gpu-2, gpu-3"
    assert terminal.faults() == {}


def test_nodes_fail_at_a_rate(terminal: Terminal) -> None:
    options = ("--rate", "100/s", "--mttr", "1ms", "--during", "60ms", "--seed", "7")
    lines = terminal.call("fail", "crash", "--all", *options)
    assert len(lines) > 4
    assert len([line for line in lines if "  failed  " in line]) * 2 == len(lines)
    assert terminal.faults() == {}


def test_every_line_is_json_when_asked_for(terminal: Terminal) -> None:
    (line,) = terminal.call("fail", "kubelet-restart", "gpu-0", "--state", "lost", "--json")
    told = msgspec.json.decode(line)
    assert told.pop("at").endswith("Z")
    assert told == {"event": "failed", "kind": "kubelet-restart", "domain": "gpu-0", "nodes": ["gpu-0"]}


def test_cordons_are_made_and_lifted(terminal: Terminal) -> None:
    terminal.call("fail", "cordon", "gpu-0", "gpu-1")
    assert [bool(node["spec"].get("unschedulable")) for node in terminal.nodes().values()] == [True, True, False, False]
    (line,) = terminal.call("fail", "uncordon", "--all")
    assert told(line) == "recovered cordon gpu-0, gpu-1"
    terminal.call("fail", "drain", "gpu-0")
    assert terminal.nodes()["gpu-0"]["spec"]["unschedulable"] is True
    terminal.call("recover", "--all")
    assert not any(node["spec"].get("unschedulable") for node in terminal.nodes().values())


def test_long_lists_of_names_are_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    from kubedyno.sim.faults.injecting import Injection  # noqa: PLC0415 - for this test only

    names = tuple(f"n-{index}" for index in range(10))
    nodes_fail._print(
        Injection(at="2026-01-02T03:04:05.678901Z", event="failed", kind="crash", domain="r", nodes=names)
    )
    assert capsys.readouterr().out == (
        "03:04:05Z  failed     crash              r (n-0, n-1, n-2, n-3, n-4, n-5, n-6, n-7 and 2 more)\n"
    )


def test_the_cluster_is_the_one_that_was_named(terminal: Terminal) -> None:
    terminal.call("fail", "crash", "gpu-0", "--name", "lab-1")
    assert terminal.selection == selecting.Selection(name="lab-1")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("fail", "crsh", "--all"), "there is no fault 'crsh': did you mean 'crash'?"),
        (("fail", "crash"), "say which nodes: names, --pool, -l, --in rack=..., or --all"),
        (("fail", "crash", "gpu-9"), "there is no node 'gpu-9': did you mean 'gpu-"),
        (("fail", "crash", "--pool", "cpu"), "no node matches --pool cpu: `kubectl get nodes --show-labels` shows"),
        (("fail", "gpu-lost", "--all", "--gpus", "8"), "--gpus 8: node 'gpu-0' has 8 GPUs, numbered from 0 to 7"),
        (("fail", "crash", "--all", "--gpus", "8"), "--gpus: a crash does not have that; it has no options"),
        (("fail", "crash", "--all", "--for", "long"), "--for: 'long' is no duration"),
        (("fail", "misreport", "--all"), "--what: misreport needs it; write one of no-numa, "),
        (("fail", "admission", "--all", "--verdict", "doubts"), "--verdict: 'doubts' is none of accepts, rejects"),
        (("fail", "slow-status", "--all", "--extra", "long"), "--extra: 'long' is no duration"),
        (("fail", "views-unavailable", "--all", "--how", "shy"), "--how: 'shy' is none of error, timeout, refused"),
        (("fail", "crash", "--all", "--rate", "often", "--during", "1m"), "--rate: 'often' is no rate"),
        (("fail", "crash", "--all", "--rate", "1/h"), "--rate: say with --during for how long nodes fail"),
        (("fail", "drain", "--all", "--for", "1m", "--keep"), "--keep: a drain does not end by itself"),
        (("fail", "uncordon", "--all", "--for", "1m"), "uncordon: it takes nodes and nothing else"),
        (("recover", "--all"), "nothing is wrong with the selected nodes (--all): there is nothing to recover"),
        (("recover",), "say which nodes: names, --pool, -l, --in rack=..., or --all"),
    ],
)
def test_bad_input_is_told_in_one_sentence(terminal: Terminal, args: tuple[str, ...], sentence: str) -> None:
    (line,) = terminal.call(*args, code=2)
    assert line.startswith(f"kubedyno: {sentence}")
    assert terminal.faults() == {}


@pytest.mark.parametrize("command", [nodes_fail.fail, nodes_fail.recover])
def test_every_option_explains_itself(command: click.Command) -> None:
    assert CliRunner().invoke(command, ["--help"]).exit_code == 0
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_the_help_names_every_kind() -> None:
    for kind in (*asking.KINDS, "uncordon"):
        assert kind in (nodes_fail.fail.help or "")


def test_every_option_of_a_kind_is_an_option_of_the_command() -> None:
    known = {option for parameter in nodes_fail.fail.params for option in parameter.opts}
    assert {f"--{option}" for option in asking.OPTIONS} <= known
