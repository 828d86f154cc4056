"""What an audit comes to. Pure."""

from collections.abc import Iterable

import msgspec

from kubedyno.measure.records import AuditLine, Finding
from kubedyno.model.settings import Evidence, Setting


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found."""

    lines: tuple[AuditLine, ...] = ()
    findings: tuple[Finding, ...] = ()
    settings: tuple[Setting, ...] = ()
    """The effective settings; those that the rate of a component showed are marked so."""


def marked(settings: Iterable[Setting], findings: Iterable[Finding], limits: dict[str, str]) -> tuple[Setting, ...]:
    """Settings with `behaved` for those that were only known from a command line and that a finding showed at work.

    `limits` gives the field of each finding's component.
    """
    shown = {(finding.component, limits[finding.component]) for finding in findings if finding.component in limits}
    return tuple(
        msgspec.structs.replace(setting, evidence=Evidence.BEHAVED)
        if setting.evidence is Evidence.ARGV and (setting.component, setting.field) in shown
        else setting
        for setting in settings
    )
