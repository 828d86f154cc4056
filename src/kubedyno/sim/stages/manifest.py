"""A Stage object as people write it: the fields of `kwok.x-k8s.io/v1alpha1`, the deprecated ones among them."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec

API_VERSION: Final = "kwok.x-k8s.io/v1alpha1"
KIND: Final = "Stage"

_Milliseconds = Annotated[int, msgspec.Meta(ge=0)]


class _Written(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What all parts have in common."""


class Cel(_Written, frozen=True):
    """An expression in CEL."""

    expression: str = ""


class Jq(_Written, frozen=True):
    """A query in jq."""

    expression: str = ""


class JqMatch(_Written, frozen=True):
    """A query in jq whose outputs are compared."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class MatchExpression(JqMatch, frozen=True):
    """One condition of a selector; key, operator and values without `jq` are the old way to write it."""

    cel: Cel | None = None
    jq: JqMatch | None = None


class ExpressionFrom(_Written, frozen=True):
    """Where a value comes from; `expressionFrom` is the old way to write `jq.expression`."""

    cel: Cel | None = None
    jq: Jq | None = None
    expression_from: str = ""


class Selector(_Written, frozen=True):
    """Which objects."""

    match_labels: Mapping[str, str] | None = None
    match_annotations: Mapping[str, str] | None = None
    match_expressions: tuple[MatchExpression, ...] | None = None


class Delay(_Written, frozen=True):
    """How long to wait."""

    duration_milliseconds: _Milliseconds | None = None
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: _Milliseconds | None = None
    jitter_duration_from: ExpressionFrom | None = None


class ResourceRef(_Written, frozen=True):
    """The kind; `apiGroup` is its apiVersion."""

    kind: str
    api_group: str = "v1"


class Event(_Written, frozen=True):
    """An event."""

    type: str = ""
    reason: str = ""
    message: str = ""


class FinalizerItem(_Written, frozen=True):
    """One finalizer."""

    value: str = ""


class Finalizers(_Written, frozen=True):
    """Changes of the finalizers."""

    add: tuple[FinalizerItem, ...] | None = None
    remove: tuple[FinalizerItem, ...] | None = None
    empty: bool = False


class Impersonation(_Written, frozen=True):
    """As whom a request is made."""

    username: str


class Patch(_Written, frozen=True):
    """A patch of the object."""

    subresource: str = ""
    root: str = ""
    template: str = ""
    type: Literal["json", "merge", "strategic"] | None = None
    impersonation: Impersonation | None = None


class Apply(_Written, frozen=True):
    """Another object."""

    template: str = ""
    subresource: str = ""
    type: Literal["apply", "merge", "strategic"] | None = None
    impersonation: Impersonation | None = None


class Step(_Written, frozen=True):
    """What is done at once."""

    patch: Patch | None = None
    event: Event | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    apply: Apply | None = None


class Next(_Written, frozen=True):
    """The old way to write steps."""

    event: Event | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patches: tuple[Patch, ...] | None = None
    status_template: str = ""
    status_subresource: str | None = None
    status_patch_as: Impersonation | None = None


class Spec(_Written, frozen=True):
    """The `spec` of a Stage."""

    resource_ref: ResourceRef
    selector: Selector | None = None
    weight: Annotated[int, msgspec.Meta(ge=0)] = 0
    weight_from: ExpressionFrom | None = None
    delay: Delay | None = None
    next: Next | None = None
    immediate_next_stage: bool | None = None
    steps: tuple[Step, ...] | None = None


def steps(spec: Spec) -> tuple[tuple[str, Step], ...]:
    """The steps, each with the field that it stands in; `next` counts where there are no steps, in KWOK's order."""
    if spec.steps:
        return tuple((f"spec.steps[{index}]", step) for index, step in enumerate(spec.steps))
    if spec.next is None:
        return ()
    following = spec.next
    found: list[tuple[str, Step]] = []
    if following.event is not None:
        found.append(("spec.next", Step(event=following.event)))
    if following.finalizers is not None:
        found.append(("spec.next", Step(finalizers=following.finalizers)))
    if following.patches:
        found += [(f"spec.next.patches[{index}]", Step(patch=patch)) for index, patch in enumerate(following.patches)]
    elif following.status_template:
        subresource = "status" if following.status_subresource is None else following.status_subresource
        patch = Patch(
            subresource=subresource,
            root="status",
            template=following.status_template,
            impersonation=following.status_patch_as,
        )
        found.append(("spec.next", Step(patch=patch)))
    if following.delete:
        found.append(("spec.next", Step(delete=True)))
    return tuple(found)
