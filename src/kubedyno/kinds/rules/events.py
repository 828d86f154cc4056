"""Rules of events, which are kept as core ones but may come as those of events.k8s.io, with stricter rules."""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.conversions.events import as_core_event
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import go_json, immutable, internal, invalid_printed
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.texts import byte_length, dns1123_subdomain, label_key
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, required

_NEW: Final = "events.k8s.io/v1"
_LIMIT: Final = 128
_MESSAGE_LIMIT: Final = 1024
_LEAST_SERIES: Final = 2


def _as_core(obj: Object) -> Object:
    return as_core_event(obj) if obj.get("apiVersion") == _NEW else obj


def _core_event(obj: Object) -> Iterator[Problem]:
    return _any_event(obj, "reportingComponent")


def _core_event_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _core_event(new)


def _any_event(event: Object, controller_field: str) -> Iterator[Problem]:
    namespace = event["metadata"].get("namespace", "")
    regarded = (event.get("involvedObject") or {}).get("namespace", "")
    if event.get("eventTime"):
        if not regarded and namespace not in {"default", "kube-system"}:
            yield _wrong_namespace(regarded)
        yield from _timed_event(event, controller_field)
    elif regarded != namespace and (regarded or namespace != "default"):
        # Old clients tell of things outside namespaces in the default one.
        yield _wrong_namespace(regarded)
    yield from formatted(namespace, "namespace", dns1123_subdomain)


def _wrong_namespace(namespace: str) -> Problem:
    return invalid("involvedObject.namespace", namespace, "does not match event.namespace")


def _timed_event(event: Object, controller_field: str) -> Iterator[Problem]:
    """What the newer clients, which set the time, must tell."""
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from formatted(controller, controller_field, label_key)
    for name in ("reportingInstance", "action", "reason"):
        text = event.get(name, "")
        if not text:
            yield required(name)
        elif byte_length(text) > _LIMIT:
            yield invalid(name, "", f"can have at most {_LIMIT} characters")
    if byte_length(event.get("message", "")) > _MESSAGE_LIMIT:
        yield invalid("message", "", f"can have at most {_MESSAGE_LIMIT} characters")


def _event(obj: Object) -> Iterator[Problem]:
    event = _as_core(obj)
    yield from _any_event(event, "reportingController")
    yield from _series(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type", "") not in {"Normal", "Warning"}:
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for name in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(name):
            yield invalid(name, "", "needs to be unset")
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        yield invalid("source", "", "needs to be unset")


def _series(event: Object) -> Iterator[Problem]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < _LEAST_SERIES:
        yield invalid("series.count", "", f"should be at least {_LEAST_SERIES}")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")


def _event_update(new: Object, old: Object) -> Iterator[Problem]:
    event, before = _as_core(new), _as_core(old)
    yield from _any_event(event, "reportingController")
    if event.get("series") != before.get("series"):
        yield from _series(event)
    yield from _fixed(event, before, "involvedObject", {}, "ObjectReference")
    yield from _fixed(event, before, "reason", "")
    yield from _fixed(event, before, "message", "")
    yield from _fixed(event, before, "source", {}, "EventSource")
    yield from _fixed(event, before, "firstTimestamp", None)
    yield from _fixed(event, before, "lastTimestamp", None)
    yield from _fixed(event, before, "count", 0)
    # The server looks at the reason twice.
    yield from _fixed(event, before, "reason", "")
    yield from _fixed(event, before, "type", "")
    yield from _fixed(event, before, "eventTime", None)
    yield from _fixed(event, before, "action", "")
    yield from immutable("related", event.get("related"), before.get("related"), "ObjectReference")
    yield from _fixed(event, before, "reportingComponent", "", told="reportingController")
    yield from _fixed(event, before, "reportingInstance", "")


def _fixed(
    event: Object, before: Object, name: str, zero: Any, type_name: str = "", *, told: str = ""
) -> Iterator[Problem]:
    new = event.get(name, zero)
    if new != before.get(name, zero):
        printed = internal(type_name, new) if type_name else go_json(new)
        yield invalid_printed(told or name, printed, "field is immutable")


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("", "Event"): Rules(create=_core_event, update=_core_event_update),
    ("events.k8s.io", "Event"): Rules(create=_event, update=_event_update),
}
"""By group and kind: events of events.k8s.io are taken in their own version or as they are stored."""
