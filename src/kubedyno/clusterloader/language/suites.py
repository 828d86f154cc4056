"""Suites: several tests, each with its config and its overrides."""

from typing import Final

import msgspec

from kubedyno.clusterloader.config import Place, Remark
from kubedyno.clusterloader.language.fields import Fields, expect, filled, names
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import Node, read

_SCENARIO: Final = names("identifier", "configPath", "overridePaths")
_SEPARATOR: Final = "_"
"""Of the parts of a result's file name."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a suite."""

    identifier: str
    config_path: str
    """Relative to the working folder, as `--testconfig`."""
    override_paths: tuple[str, ...] = ()
    """Relative to the working folder; they win over `--testoverrides`, later ones over earlier ones."""
    place: Place


class Suite(msgspec.Struct, frozen=True):
    """All tests of a suite, in order."""

    scenarios: tuple[Scenario, ...]
    remarks: tuple[Remark, ...] = ()


def decode_suite(text: str, file: str) -> Suite:
    """The suite of a file, which is no template; a usage error lists all that is wrong with it, one a line."""
    findings = Findings()
    document = read(text, file)
    for place, key in document.repeated:
        findings.remark(place, f"{key} stands here for the second time; the last one counts")
    root = document.root
    scenarios: tuple[Scenario, ...] = ()
    if not isinstance(root.value, list):
        expect(root, "a list of tests, each with identifier, configPath and overridePaths", findings)
    elif not root.value:
        findings.problem(root.place, "there are no tests in this suite; write at least one, with its configPath")
    else:
        scenarios = tuple(_decode_scenario(node, findings) for node in filled(root, findings))
    seen: set[str] = set()
    for scenario in scenarios:
        if scenario.identifier and scenario.identifier in seen:
            findings.problem(scenario.place, f"identifier: there is a test {scenario.identifier!r} already")
        seen.add(scenario.identifier)
    findings.stop_at_problems(file)
    return Suite(scenarios, findings.remarks)


def _decode_scenario(node: Node, findings: Findings) -> Scenario:
    fields = Fields(node, _SCENARIO, findings)
    identifier = fields.text("identifier")
    if _SEPARATOR in identifier:
        advice = identifier.replace(_SEPARATOR, "-")
        fields.problem(
            "identifier",
            f"{identifier!r} has a _, which parts the words of file names of results; write {advice!r}",
        )
    return Scenario(
        identifier=identifier,
        config_path=fields.required_text("configPath", "testing/load/config.yaml"),
        override_paths=fields.texts("overridePaths"),
        place=node.place,
    )
