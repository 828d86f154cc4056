"""`scripts/bench [NAME...] [--list] [--json]`: each benchmark measures ours and its peer by turns, in one run."""

import argparse
import sys
from collections.abc import Callable

import client_create
import msgspec
import starting
from result import Result

BENCHMARKS: dict[str, Callable[[], list[Result]]] = {
    "help": starting.show_help,
    "up": starting.up,
    "client-stub": client_create.stub,
    "client-local": client_create.local,
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
            print(f"{name:<14} {(function.__doc__ or '').splitlines()[0]}")
        return 0
    results = []
    for name in arguments.names or BENCHMARKS:
        for result in BENCHMARKS[name]():
            results.append(result)
            print(msgspec.json.encode(result).decode() if arguments.json else _line(result), flush=True)
    return 0 if all(result.ok for result in results) else 1


def _line(result: Result) -> str:
    return (
        f"{'ok    ' if result.ok else 'MISSED'} {result.name:<18} ours {result.ours:>9.3f}  peer {result.peer:>9.3f} "
        f"{result.unit:<14} ratio {result.ratio:5.2f}  target: {result.target}  n={result.repeats}"
    )


if __name__ == "__main__":
    sys.exit(main())
