"""What a request says beside its object: the options of writes, lists, watches and deletes, checked."""

import functools
import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from kubedyno.kube import problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.kube.selectors import BadSelector, FieldSelector, LabelSelector
from kubedyno.server.messages import Refused, Request, bad_request

FieldValidation = Literal["Ignore", "Warn", "Strict"]

_FIELD_VALIDATIONS: Mapping[str, FieldValidation] = {
    "": "Warn",
    "Ignore": "Ignore",
    "Warn": "Warn",
    "Strict": "Strict",
}
_PROPAGATIONS = ("Foreground", "Background", "Orphan")
_MANAGER_MAX_CHARS = 128
_FALSE = frozenset({"0", "false"})
"""Texts that switch a parameter off, in any case of letters; every other one switches it on."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to write."""

    dry_run: bool
    manager: str
    """Who is entered as the owner of fields; without a `fieldManager` the client's program."""
    validation: FieldValidation
    force: bool = False


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to list or watch."""

    labels: LabelSelector
    fields: FieldSelector
    limit: int
    continue_token: str
    version: str
    """`resourceVersion`; empty: none was asked for."""
    version_match: str
    watch: bool
    bookmarks: bool
    send_initial_events: bool | None
    timeout_s: int


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to delete. None and empty texts are what was not said."""

    grace_s: int | None = None
    propagation: str = ""
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False
    body: Object = {}
    """The options as they came, for those who read more of them."""


def write_options(request: Request, kind: str) -> WriteOptions:
    """The options of a create, update or patch; `kind` names them in errors (`CreateOptions`)."""
    return _write_options(tuple(request.query.items()), request.content_type, request.user_agent, kind)


@functools.lru_cache(maxsize=1024)
def _write_options(
    parameters: tuple[tuple[str, str], ...], content_type: str, user_agent: str, kind: str
) -> WriteOptions:
    """By far the most requests of a client say the same."""
    query = dict(parameters)
    found: list[Problem] = []
    dry_run = _dry_run(query, found)
    manager = query.get("fieldManager", "")
    if len(manager) > _MANAGER_MAX_CHARS:
        found.append(problems.too_long("fieldManager", _MANAGER_MAX_CHARS))
    for position, character in enumerate(manager):
        if not character.isprintable():
            said = f"invalid character U+{ord(character):04X} (at position {position})"
            found.append(problems.invalid("fieldManager", manager, said))
    validation = query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        supported = ("", "Ignore", "Strict", "Warn")
        found.append(problems.not_supported("fieldValidation", validation, supported))
    force = _is_true(query.get("force", "false"))
    if kind == "PatchOptions":
        applies = content_type.startswith("application/apply-patch")
        if applies and not manager:
            found.insert(0, problems.required("fieldManager", "is required for apply patch"))
        elif not applies and "force" in query:
            found.insert(0, problems.forbidden("force", "may not be specified for non-apply patch"))
    if found:
        raise Refused(problems.invalid_status(kind, "meta.k8s.io", "", found))
    return WriteOptions(
        dry_run=dry_run,
        manager=manager or program_of(user_agent),
        validation=_FIELD_VALIDATIONS[validation],
        force=force,
    )


def program_of(user_agent: str) -> str:
    """The client's program, as the server takes it from the user agent."""
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))[:_MANAGER_MAX_CHARS]
    return name or "unknown"


def watches(query: Mapping[str, str]) -> bool:
    """Whether a GET asks for a watch."""
    return "watch" in query and _is_true(query["watch"])


def list_options(query: Mapping[str, str]) -> ListOptions:
    """The options of a list or a watch."""
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    watch = watches(query)
    initial = query.get("sendInitialEvents")
    options = ListOptions(
        labels=_labels(query.get("labelSelector", "")),
        fields=_fields(query.get("fieldSelector", "")),
        limit=max(_integer(query, "limit"), 0),
        continue_token=query.get("continue", ""),
        version=version,
        version_match=match,
        watch=watch,
        bookmarks="allowWatchBookmarks" in query and _is_true(query["allowWatchBookmarks"]),
        send_initial_events=None if initial is None else _is_true(initial),
        timeout_s=_integer(query, "timeoutSeconds"),
    )
    found = list(_watch_problems(options) if watch else _list_problems(options))
    if found:
        raise Refused(problems.invalid_status("ListOptions", "meta.k8s.io", "", found))
    return options


def _watch_problems(options: ListOptions) -> list[Problem]:
    match, initial = options.version_match, options.send_initial_events
    if initial is None:
        if match:
            return [
                problems.forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            ]
        return []
    found = []
    if match != "NotOlderThan":
        said = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        found.append(problems.forbidden("resourceVersionMatch", said))
        if match:
            found.append(problems.not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
    return found


def _list_problems(options: ListOptions) -> list[Problem]:
    match, found = options.version_match, []
    if options.send_initial_events is not None:
        return [problems.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")]
    if not match:
        return []
    if not options.version:
        said = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        found.append(problems.forbidden("resourceVersionMatch", said))
    if options.continue_token:
        found.append(
            problems.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
        )
    if match not in {"Exact", "NotOlderThan"}:
        found.append(problems.not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and options.version == "0":
        said = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        found.append(problems.forbidden("resourceVersionMatch", said))
    return found


def delete_options(query: Mapping[str, str], body: Object) -> DeleteOptions:
    """The options of a delete: those in the body, or in the query when there is no body."""
    said = body or _from_query(query)
    found: list[Problem] = []
    propagation = said.get("propagationPolicy") or ""
    orphan = said.get("orphanDependents")
    if propagation and orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        found.append(problems.invalid("propagationPolicy", propagation, text))
    elif propagation and propagation not in _PROPAGATIONS:
        found.append(problems.not_supported("propagationPolicy", propagation, (*_PROPAGATIONS, "nil")))
    dry_run = said.get("dryRun") or []
    if any(value != "All" for value in dry_run):
        found.append(problems.not_supported("dryRun", dry_run, ("All",)))
    if found:
        raise Refused(problems.invalid_status("DeleteOptions", "meta.k8s.io", "", found))
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    preconditions = said.get("preconditions") or {}
    return DeleteOptions(
        grace_s=said.get("gracePeriodSeconds"),
        propagation=propagation,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
        body=said,
    )


def _from_query(query: Mapping[str, str]) -> Object:
    said: Object = {}
    if "gracePeriodSeconds" in query:
        said["gracePeriodSeconds"] = _integer(query, "gracePeriodSeconds")
    if query.get("propagationPolicy"):
        said["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        said["orphanDependents"] = _is_true(query["orphanDependents"])
    if query.get("dryRun"):
        said["dryRun"] = [query["dryRun"]]
    return said


def _is_true(text: str) -> bool:
    return text.lower() not in _FALSE


def _dry_run(query: Mapping[str, str], found: list[Problem]) -> bool:
    value = query.get("dryRun", "")
    if value and value != "All":
        found.append(problems.not_supported("dryRun", [value], ("All",)))
    return bool(value)


def _integer(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "")
    if not text:
        return 0
    written = re.fullmatch(r"[+-]?[0-9]+", text)
    if written is None:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def _labels(text: str) -> LabelSelector:
    try:
        return LabelSelector.parse(text)
    except BadSelector as error:
        raise bad_request(error.told) from error


def _fields(text: str) -> FieldSelector:
    try:
        return FieldSelector.parse(text)
    except BadSelector as error:
        raise bad_request(error.told) from error
