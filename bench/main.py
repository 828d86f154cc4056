"""`scripts/bench [NAME...] [--list] [--json]`: each benchmark measures ours and its peer by turns, in one run."""

import argparse
import sys
from collections.abc import Callable

import client_create
import clusterloading
import comparing
import dashboarding
import deciding
import embedded_calls
import embedded_nodes
import embedded_scheduling
import embedded_serving
import embedded_size
import embedded_starting
import filling
import msgspec
import recording
import simulating
import starting
import submitting
from result import Result

BENCHMARKS: dict[str, Callable[[], list[Result]]] = {
    "help": starting.show_help,
    "up": starting.up,
    "client-stub": client_create.stub,
    "client-local": client_create.local,
    "embedded-start": embedded_starting.start,
    "embedded-size": embedded_size.size,
    "embedded-create": embedded_serving.create,
    "embedded-watch": embedded_serving.watch,
    "embedded-latency": embedded_serving.latency,
    "embedded-schedule": embedded_scheduling.schedule,
    "embedded-calls": embedded_calls.calls,
    "embedded-nodes": embedded_nodes.nodes,
    "simulate": simulating.simulate,
    "recorder": recording.recorder,
    "submit": submitting.submit,
    "clusterloader-compile": clusterloading.compile_large,
    "clusterloader-throughput": clusterloading.throughput,
    "compare": comparing.comparing,
    "dashboard": dashboarding.dashboard,
    "decide": deciding.deciding,
    "fill": filling.fill,
    "fill-large": filling.fill_large,
    "nodes-100,000": filling.hundred_thousand_nodes,
}


def main() -> int:
    """Run the benchmarks; 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all if none is named")
    parser.add_argument("--list", action="store_true", help="only say which there are")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}: known are {', '.join(BENCHMARKS)}")
    if arguments.list:
        for name, function in BENCHMARKS.items():
            print(f"{name:<18} {(function.__doc__ or '').splitlines()[0]}")
        return 0
    results = []
    for name in arguments.names or BENCHMARKS:
        for result in BENCHMARKS[name]():
            results.append(result)
            print(msgspec.json.encode(result).decode() if arguments.json else _line(result), flush=True)
    return 0 if all(result.ok for result in results) else 1


def _line(result: Result) -> str:
    peer = "" if result.peer is None else f"{result.peer:9.3f}"
    ratio = "" if result.ratio is None else f"{result.ratio:5.2f}"
    return (
        f"{'ok    ' if result.ok else 'MISSED'} {result.name:<26} ours {result.ours:>9.3f}  peer {peer:>9} "
        f"{result.unit:<16} ratio {ratio:>5}  target: {result.target}  n={result.repeats}"
    )


if __name__ == "__main__":
    sys.exit(main())
