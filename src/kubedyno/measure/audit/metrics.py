"""What a component's `/metrics` tell of its client and its queues: a few sums of all that they say. Pure.

Names of Kubernetes, of controller-runtime and of KAI become one set of figures, so that whoever judges needs to know
none of them. Figures that only grow are counters; they fall when their process is started anew.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

Figures = Mapping[str, float]
"""Sums by name:

`requests` by method (`requests.PATCH`) and `refused` (429); `limiter.count`, `limiter.wait_s` and `limiter.late` of
the client's own limiter, where late is a wait of more than 25 ms; by controller (`work.count bindrequest`)
`queue.count`, `queue.wait_s`, `work.count` and `work.took_s`, of all together `queue.depth` and `work.active`;
`binds.count` and `binds.took_s` (KAI's scheduler); of the API server `served.count` and `served.took_s` by what was
asked for (`served.count POST pods/binding`).
"""

_LATE: Final = "0.025"
_TOO_MANY: Final = "429"

# Series, figure, factor.
_PLAIN: Final = {
    "rest_client_rate_limiter_duration_seconds_count": ("limiter.count", 1.0),
    "rest_client_rate_limiter_duration_seconds_sum": ("limiter.wait_s", 1.0),
    "workqueue_depth": ("queue.depth", 1.0),
    "controller_runtime_active_workers": ("work.active", 1.0),
    "kai_task_bind_latency_milliseconds_count": ("binds.count", 1.0),
    "kai_task_bind_latency_milliseconds_sum": ("binds.took_s", 0.001),
}
# Series, figure, the label that tells the controller.
_BY_CONTROLLER: Final = {
    "workqueue_queue_duration_seconds_count": ("queue.count", "name"),
    "workqueue_queue_duration_seconds_sum": ("queue.wait_s", "name"),
    "controller_runtime_reconcile_time_seconds_count": ("work.count", "controller"),
    "controller_runtime_reconcile_time_seconds_sum": ("work.took_s", "controller"),
}
_REQUESTS: Final = "rest_client_requests_total"
_LIMITER_BUCKET: Final = "rest_client_rate_limiter_duration_seconds_bucket"
_SERVED: Final = {
    "apiserver_request_duration_seconds_count": "served.count",
    "apiserver_request_duration_seconds_sum": "served.took_s",
}
_NAMES: Final = (*_PLAIN, *_BY_CONTROLLER, _REQUESTS, _LIMITER_BUCKET, *_SERVED)
_LINE: Final = re.compile(rf"^({'|'.join(_NAMES)})(?:\{{([^\n]*)\}})? (\S+)".encode(), re.MULTILINE)
_LABEL: Final = re.compile(rb'(\w+)="([^"]*)"')


def figures(text: bytes) -> dict[str, float]:
    """The figures of one answer of `/metrics`; what it does not have is left out."""
    found: defaultdict[str, float] = defaultdict(float)
    for match in _LINE.finditer(text):
        name, value = match[1].decode(), float(match[3])
        for figure, amount in _read(name, match[2] or b"", value):
            found[figure] += amount
    return dict(found)


def _read(name: str, raw_labels: bytes, value: float) -> Iterator[tuple[str, float]]:
    if name in _PLAIN:
        figure, factor = _PLAIN[name]
        yield figure, value * factor
        if figure == "limiter.count":
            yield "limiter.late", value
        return
    labels = {key.decode(): text.decode() for key, text in _LABEL.findall(raw_labels)}
    if name in _BY_CONTROLLER:
        figure, label = _BY_CONTROLLER[name]
        yield f"{figure} {labels.get(label, '')}", value
    elif name == _REQUESTS:
        yield f"requests.{labels.get('method', '')}", value
        if labels.get("code") == _TOO_MANY:
            yield "refused", value
    elif name == _LIMITER_BUCKET:
        if labels.get("le") == _LATE:
            yield "limiter.late", -value
    elif labels.get("verb") != "WATCH":
        subresource = labels.get("subresource")
        asked = f"{labels.get('verb', '')} {labels.get('resource', '')}{'/' if subresource else ''}{subresource or ''}"
        yield f"{_SERVED[name]} {asked}", value
