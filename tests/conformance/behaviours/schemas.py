"""Schemas of custom resources: what they prune, fill in and refuse."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import edited, of, with_meta
from tests.conformance.widgets import define, group, schema, widget, widget_crd

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS


@behaviour
async def unknown_fields_are_pruned(api: Api) -> None:
    at = await define(api)
    answer = await api.create(edited(widget(group(api), size=3), "spec/weight", 5), at=at)
    assert answer["spec"] == {"size": 3, "colour": "green"}
    assert answer.warnings


@behaviour
async def unknown_fields_are_refused_if_asked(api: Api) -> None:
    at = await define(api)
    answer = await api.create(edited(widget(group(api)), "spec/weight", 5), at=at, fieldValidation="Strict")
    assert answer.code == 400


@behaviour
async def unknown_fields_in_items_are_pruned(api: Api) -> None:
    at = await define(api)
    parts = [{"id": "a", "text": "x", "weight": 5}]
    answer = await api.create(widget(group(api), parts=parts), at=at, fieldValidation="Ignore")
    assert answer["spec"]["parts"] == [{"id": "a", "text": "x"}]
    assert answer.warnings == []


@behaviour
async def unknown_fields_may_be_preserved(api: Api) -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    at = await define(api, schema=schema(free=free))
    answer = await api.create(widget(group(api), free={"any": [1, {"thing": None}]}, bound=1), at=at)
    assert answer["spec"] == {"free": {"any": [1, {"thing": None}]}}


@behaviour
async def a_patch_is_pruned_too(api: Api) -> None:
    at = await define(api)
    await api.create(widget(group(api)), at=at)
    answer = await api.merge(at, "widget", {"spec": {"weight": 5}})
    assert "weight" not in answer["spec"]


@behaviour
async def defaults_are_filled_in(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api)), at=at)
    assert answer["spec"] == {"colour": "green"}


@behaviour
async def defaults_do_not_make_their_parents(api: Api) -> None:
    at = await define(api)
    answer = await api.create(of(f"{group(api)}/v1", "Widget", "widget"), at=at)
    assert "spec" not in answer.body


@behaviour
async def nested_defaults_are_filled_in(api: Api) -> None:
    inner = {"type": "integer", "default": 2}
    outer = {"type": "object", "default": {}, "properties": {"inner": inner}}
    listed = {"type": "array", "items": {"type": "object", "properties": {"n": inner}}}
    at = await define(api, schema=schema(outer=outer, listed=listed))
    answer = await api.create(widget(group(api), listed=[{}, {"n": 5}]), at=at)
    assert answer["spec"] == {"outer": {"inner": 2}, "listed": [{"n": 2}, {"n": 5}]}


@behaviour
async def null_becomes_the_default(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api), colour=None), at=at)
    assert answer["spec"] == {"colour": "green"}


@behaviour
async def null_is_kept_where_it_is_allowed_and_else_left_out(api: Api) -> None:
    at = await define(api, schema=schema(maybe={"type": "string", "nullable": True}, never={"type": "string"}))
    answer = await api.create(widget(group(api), maybe=None, never=None), at=at)
    assert answer["spec"] == {"maybe": None}


@behaviour
async def values_are_checked(api: Api) -> None:
    at = await define(api)
    # One at a time: of several the real server tells in any order.
    assert (await api.create(widget(group(api), size=10), at=at)).causes == ["spec.size"]
    assert (await api.create(widget(group(api), colour="blue"), at=at)).causes == ["spec.colour"]


@behaviour
async def types_are_checked(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api), size="big"), at=at)
    assert answer.causes == ["spec.size"]


@behaviour
async def required_fields_are_missed(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api), parts=[{"text": "x"}]), at=at)
    assert "spec.parts[0].id" in answer.causes


@behaviour
async def keys_of_a_list_are_unique(api: Api) -> None:
    at = await define(api)
    answer = await api.create(widget(group(api), parts=[{"id": "a"}, {"id": "a"}]), at=at)
    assert answer.causes == ["spec.parts[1]"]


@behaviour
async def strings_are_checked(api: Api) -> None:
    text = {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a+$"}
    at = await define(api, schema=schema(text=text))
    for bad in ("a", "aaaaa", "abc"):
        assert (await api.create(widget(group(api), text=bad), at=at)).causes == ["spec.text"]


@behaviour
async def numbers_are_checked(api: Api) -> None:
    number = {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5}
    at = await define(api, schema=schema(number=number))
    for bad in (0, 0.7, -1):
        assert (await api.create(widget(group(api), number=bad), at=at)).code == 422


@behaviour
async def lists_and_maps_are_counted(api: Api) -> None:
    listed = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}
    named = {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 1}
    at = await define(api, schema=schema(listed=listed, named=named))
    wrong: list[Object] = [{"listed": []}, {"listed": list("abc")}, {"named": {"a": 1, "b": 2}}, {"named": {"a": "x"}}]
    for bad in wrong:
        assert (await api.create(widget(group(api), **bad), at=at)).code == 422


@behaviour
async def an_integer_or_a_string(api: Api) -> None:
    at = await define(api, schema=schema(port={"x-kubernetes-int-or-string": True}))
    for good in (80, "http"):
        answer = await api.create(widget(group(api), f"w{good}", port=good), at=at)
        assert answer["spec"] == {"port": good}
    assert (await api.create(widget(group(api), port=[1]), at=at)).code == 422


@behaviour
async def one_of_several_schemas(api: Api) -> None:
    either = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    at = await define(api, schema=schema(either=either))
    assert (await api.create(widget(group(api), "one", either={"a": "x"}), at=at)).code == 201
    assert (await api.create(widget(group(api), either={"a": "x", "b": "y"}), at=at)).code == 422


@behaviour
async def formats_are_checked(api: Api) -> None:
    when = {"type": "string", "format": "date-time"}
    at = await define(api, schema=schema(when=when))
    assert (await api.create(widget(group(api), "good", when="2021-01-01T00:00:00Z"), at=at)).code == 201
    assert (await api.create(widget(group(api), when="tomorrow"), at=at)).code == 422


@behaviour
async def metadata_are_decoded_and_pruned(api: Api) -> None:
    at = await define(api)
    body = with_meta(widget(group(api)), colour="red", labels={"a": "1"})
    answer = await api.create(body, at=at)
    assert "colour" not in answer.meta


@behaviour(differs="expressions")
async def a_rule_of_the_schema_is_evaluated(api: Api) -> None:
    rules = [{"rule": "self.low <= self.high", "message": "low must not exceed high"}]
    bounds = {"type": "object", "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}}}
    at = await define(api, schema=schema(bounds={**bounds, "x-kubernetes-validations": rules}))
    answer = await api.create(widget(group(api), bounds={"low": 3, "high": 1}), at=at)
    assert answer.code == 422


@behaviour
async def a_schema_is_structural(api: Api) -> None:
    answer = await api.create(widget_crd(group(api), schema={"openAPIV3Schema": {"properties": {"spec": {}}}}))
    assert answer.code == 422


@behaviour
async def a_default_must_fit_its_schema(api: Api) -> None:
    answer = await api.create(widget_crd(group(api), schema=schema(size={"type": "integer", "default": "big"})))
    assert answer.code == 422


@behaviour
async def a_changed_schema_takes_effect(api: Api) -> None:
    at = await define(api)
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/maximum"
    await api.operate(CRDS, f"widgets.{group(api)}", {"op": "replace", "path": path, "value": 99}, recorded=False)

    async def allowed() -> bool:
        probe = await api.create(widget(group(api), "probe", size=50), at=at, dryRun="All", recorded=False)
        return probe.code == 201

    await api.until(allowed)
    answer = await api.create(widget(group(api), size=50), at=at)
    assert answer.code == 201
