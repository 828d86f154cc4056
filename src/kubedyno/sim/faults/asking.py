"""What is asked for in words: kinds of trouble with their options, and times, as a command or a file writes them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.units import parse_duration_s
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.aiming import AnyGpus
from kubedyno.sim.faults.fault import Cause, Fault, State
from kubedyno.sim.faults.injecting import Trouble
from kubedyno.sim.faults.maintaining import Cordon, Drain
from kubedyno.sim.faults.misbehaving import Silence, Verdict, Wrong
from kubedyno.sim.faults.scheduling import DEFAULT_REPAIR, Timing, parse_rate_per_s

_ANY: Final = "any:"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{text!r} is no number") from None


def _whole(text: str) -> int:
    if not text.strip().removeprefix("-").isdecimal():
        raise UsageError(f"{text!r} is no whole number")
    return int(text)


def _seconds(text: str) -> int:
    seconds = _whole(text)
    if seconds < 0:
        raise UsageError(f"{text} is less than nothing: write seconds, 0 or more")
    return seconds


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise UsageError(f"{text!r} is none of {', '.join(choices)}")
        return text

    return read


def _indexes(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise UsageError(f"{text!r} are no GPUs: write their indexes, like 0,3, or any:2 for two of each node")
    return sorted({int(part) for part in parts})


# By kind: which options it has, the field of each, and how it is read.
_OPTIONS: Final[Mapping[str, Mapping[str, tuple[str, Callable[[str], Any]]]]] = {
    "crash": {},
    "not-ready": {"cause": ("cause", _one_of(*get_args(Cause)))},
    "flapping": {
        "period": ("periodSeconds", parse_duration_s),
        "down-share": ("downShare", _number),
        "cause": ("cause", _one_of(*get_args(Cause))),
    },
    "slow-start": {"factor": ("factor", _number), "extra": ("extra", str)},
    "pod-failure": {
        "pod-share": ("share", _number),
        "exit-code": ("exitCode", _whole),
        "after": ("afterSeconds", parse_duration_s),
    },
    "gpu-lost": {"gpus": ("gpus", _indexes)},
    "kubelet-restart": {"state": ("state", _one_of(*get_args(State)))},
    "misreport": {
        "what": ("what", _one_of(*get_args(Wrong))),
        "resource": ("resource", str),
        "amount": ("by", _whole),
        "pod-share": ("share", _number),
    },
    "views-unavailable": {
        "how": ("how", _one_of(*get_args(Silence))),
        "delay": ("delaySeconds", parse_duration_s),
    },
    "admission": {
        "verdict": ("verdict", _one_of(*get_args(Verdict))),
        "reason": ("reason", str),
        "pod-share": ("share", _number),
    },
    "slow-status": {"extra": ("extra", str)},
    "cordon": {},
    "drain": {"grace-period": ("graceSeconds", _seconds)},
}
# What these are about must be said.
_NEEDED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "misreport": ("what", get_args(Wrong)),
    "admission": ("verdict", get_args(Verdict)),
}
KINDS: Final = tuple(_OPTIONS)
OPTIONS: Final = tuple(dict.fromkeys(option for options in _OPTIONS.values() for option in options))


def trouble(kind: str, options: Mapping[str, str]) -> Trouble:
    """The trouble of that kind; UsageError names the option that is wrong, or that it does not have."""
    fault.check_kind(kind, KINDS)
    known = _OPTIONS[kind]
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(f'--{name}' for name in known)}" if known else "it has no options"
            raise UsageError(f"--{option}: a {kind} does not have that; {has}")
    needed, choices = _NEEDED.get(kind, ("", ()))
    if needed and needed not in options:
        raise UsageError(f"--{needed}: {kind} needs it; write one of {', '.join(choices)}")
    gpus = options.get("gpus", f"{_ANY}1")
    if kind == "gpu-lost" and gpus.startswith(_ANY):
        return AnyGpus(_read("gpus", _whole, gpus.removeprefix(_ANY)))
    fields = {
        field: _read(option, read, options[option]) for option, (field, read) in known.items() if option in options
    }
    made: Fault | Cordon | Drain = msgspec.convert({"kind": kind, **fields}, Fault | Cordon | Drain)
    if not isinstance(made, Cordon | Drain):
        try:
            made.check()
        except UsageError as error:
            raise UsageError(_by_option(str(error), known)) from None
    return made


def _by_option(told: str, known: Mapping[str, tuple[str, Any]]) -> str:
    """The sentence about a field as one about the option that it comes from."""
    for option, (field, _) in known.items():
        if told.startswith(field):
            return f"--{option}{told.removeprefix(field)}"
    return told


def timing(
    *, for_: str | None = None, rate: str | None = None, mttr: str | None = None, during: str | None = None
) -> Timing:
    """When it happens: at once, for a time or for good; or at a rate over a time."""
    if rate is None:
        for option, given in (("--mttr", mttr), ("--during", during)):
            if given is not None:
                raise UsageError(f"{option}: belongs to --rate; without a rate, --for says how long it lasts")
        return Timing(for_s=None if for_ is None else _length_s("for", for_))
    if for_ is not None:
        raise UsageError("--for: with --rate, --mttr says how long each outage lasts, and --during the whole")
    if during is None:
        raise UsageError("--rate: say with --during for how long nodes fail, like --during 30m")
    return Timing(
        rate_per_s=_read("rate", parse_rate_per_s, rate),
        repair=DEFAULT_REPAIR if mttr is None else _read("mttr", Draw.parse, mttr),
        during_s=_length_s("during", during),
    )


def _length_s(option: str, text: str) -> float:
    length_s: float = _read(option, parse_duration_s, text)
    if length_s <= 0:
        raise UsageError(f"--{option} {text}: write more than nothing, like 60s")
    return length_s


def _read(option: str, read: Callable[[str], Any], text: str) -> Any:
    with located(f"--{option}"):
        return read(text)
