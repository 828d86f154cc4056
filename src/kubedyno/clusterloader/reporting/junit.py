"""junit.xml: a case for each test, each of its steps of phases, and each measurement of its other steps. Pure.

It reads as ClusterLoader2's does, except that the suite's number of tests is right, where that one always says 0.
"""

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

from kubedyno.kit.xmltext import for_xml

FILE_NAME: Final = "junit.xml"

_SUITE: Final = "ClusterLoaderV2"
_NAMELESS: Final = "[without a name]"


class Case(msgspec.Struct, frozen=True):
    """One case; it passed when it neither failed nor was skipped."""

    name: str
    duration_s: float
    failures: tuple[str, ...] = ()
    skipped: str = ""
    """Why; what failed as well is told as failed."""


def overall_name(config_name: str, config_path: str) -> str:
    """Of the case of a whole test."""
    return f"{config_name} overall ({config_path})"


def step_name(config_name: str, number: int, step: str) -> str:
    """Of the case of a step of phases; numbers are from 1 on."""
    return f"{config_name}: [step: {number:02d}] {step or _NAMELESS}"


def measurement_name(config_name: str, number: int, step: str, index: int, identifier: str) -> str:
    """Of the case of a measurement within a step; indices are from 0 on."""
    return f"{step_name(config_name, number, step)} [{index:02d}] - {identifier}"


def document(cases: Sequence[Case], *, duration_s: float) -> str:
    """The text of the file. `duration_s` is that of the whole run: cases of tests and of their steps overlap."""
    suite = ET.Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(cases)),
        failures=str(sum(bool(case.failures) for case in cases)),
        errors="0",
        skipped=str(sum(_is_skipped(case) for case in cases)),
        time=f"{duration_s:.3f}",
    )
    for case in cases:
        element = ET.SubElement(
            suite, "testcase", name=for_xml(case.name), classname=_SUITE, time=f"{case.duration_s:.6f}"
        )
        if case.failures:
            ET.SubElement(element, "failure", type="Failure").text = for_xml(_listed(case.failures))
        elif _is_skipped(case):
            ET.SubElement(element, "skipped", message=for_xml(case.skipped))
    ET.indent(suite, "    ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _listed(failures: Sequence[str]) -> str:
    return "[" + "\n".join(failures) + "]"


def _is_skipped(case: Case) -> bool:
    return bool(case.skipped) and not case.failures
