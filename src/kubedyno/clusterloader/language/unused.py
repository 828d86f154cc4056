"""What is given but nothing uses: values, parameters and tuning sets, as remarks."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, Final

from kubedyno.clusterloader.config import Config, Place
from kubedyno.clusterloader.language.decoding import Draft, ModuleUse
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.kit.nearest import suggestion

Mentions = Callable[[str], frozenset[str]]
"""The names `.X` that the template of a path, as it is written in a config, mentions."""

_ALWAYS_GIVEN: Final = frozenset({"Nodes", "ImageRegistry"})
_OF_EACH_OBJECT: Final = frozenset({"Name", "BaseName", "Index", "Namespace"})


def note(config: Config, draft: Draft, modules: Iterable[ModuleUse], mentions: Mentions, findings: Findings) -> None:
    """Remark on what nothing uses; `modules` are those that were taken in."""
    unread = _Unread(mentions, findings)
    for use in modules:
        unread.note(use.path, use.params, "params", use.place)
    for member in (member for step in config.steps for phase in step.phases for member in phase.bundle):
        unread.note(member.template_path, member.fill_map, "templateFillMap", member.place)
    templates = sorted({PurePath(config.path).name, *unread.paths})
    mentioned: frozenset[str] = frozenset().union(*map(mentions, templates))
    # What configs and modules give to templates themselves is nothing that a value was meant for.
    wanted = mentioned - unread.given - _OF_EACH_OBJECT - _ALWAYS_GIVEN
    for name in sorted(config.values.keys() - mentioned - _ALWAYS_GIVEN):
        advice = suggestion(name, wanted)
        findings.remark(Place(config.path, 1), f"the value {name} is given, but no template mentions .{name}; {advice}")
    used = {phase.tuning_set for step in config.steps for phase in step.phases}
    for named in draft.tuning_sets:
        if named.name not in used:
            findings.remark(named.place, f"no phase uses the tuning set {named.name!r}")


class _Unread:
    """Remarks on what is given to templates that do not mention it, once for each template and name."""

    def __init__(self, mentions: Mentions, findings: Findings) -> None:
        self.paths: set[str] = set()
        self.given: set[str] = set()
        self._mentions = mentions
        self._findings = findings
        self._seen: set[tuple[str, str]] = set()

    def note(self, path: str, given: Mapping[str, Any], where: str, place: Place) -> None:
        """Look at what is given to the template of a path."""
        self.paths.add(path)
        self.given.update(given)
        for name in given:
            if (path, name) in self._seen:
                continue
            self._seen.add((path, name))
            mentioned = self._mentions(path)
            if name in _OF_EACH_OBJECT and where == "templateFillMap":
                text = f"{where}: .{name} is set for each object, what is given counts for nothing"
                self._findings.remark(place, text)
            elif name not in mentioned:
                advice = suggestion(name, mentioned)
                self._findings.remark(place, f"{where}: {path} does not mention .{name}; {advice}")
