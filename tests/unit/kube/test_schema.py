"""The table of types: what it says of kinds that everybody knows, and how it is made from OpenAPI documents."""

import pytest

from kubedyno.kit.errors import EngineError
from kubedyno.kube import openapi, resources, schema

pytestmark = pytest.mark.unit


def document(**schemas: object) -> dict[str, object]:
    return {"components": {"schemas": {name.replace("__", "."): content for name, content in schemas.items()}}}


def test_a_pods_containers_are_a_list_by_name() -> None:
    pod = schema.type_of("v1", "Pod")
    assert pod is not None
    spec = schema.type_named(pod.fields["spec"].of)
    containers = spec.fields["containers"]
    assert (containers.shape, containers.of, containers.required) == ("list", "core.v1.Container", True)
    assert (containers.list_type, containers.list_keys, containers.merge_key) == ("map", ("name",), "name")
    assert spec.fields["restartPolicy"].enum == ("Always", "Never", "OnFailure")
    assert spec.fields["nodeSelector"].atomic_map
    assert (spec.fields["overhead"].shape, spec.fields["overhead"].of) == ("map", "quantity")
    assert spec.fields["tolerations"].list_type == "atomic"
    ports = schema.type_named("core.v1.Container").fields["ports"]
    assert ports.list_keys == ("containerPort", "protocol")
    assert schema.type_named("core.v1.ContainerPort").fields["protocol"].default == "TCP"


def test_gangs_and_claims_of_this_version_are_there() -> None:
    assert schema.kubernetes_version() == "v1.36.3"
    group = schema.type_of("scheduling.k8s.io/v1alpha2", "PodGroup")
    assert group is not None
    assert "schedulingPolicy" in schema.type_named(group.fields["spec"].of).fields
    assert {"resource.k8s.io/v1/ResourceClaim", "resource.k8s.io/v1beta2/ResourceClaim"} <= set(schema.kinds())


def test_every_type_that_is_named_is_there() -> None:
    waiting, seen = [schema.type_of(*kind.rsplit("/", 1)) for kind in schema.kinds()], set()
    while waiting:
        found = waiting.pop()
        assert found is not None
        if found.name not in seen:
            seen.add(found.name)
            waiting += [schema.type_named(field.of) for field in found.fields.values() if field.of_objects]
    assert len(seen) > 400


def test_the_table_covers_the_resources_that_a_lab_serves() -> None:
    stored = {f"{r.api_version}/{r.kind}" for r in resources.BUILT_IN}
    assert len(stored & set(schema.kinds())) > 70


def test_times_with_microseconds_are_told_from_others() -> None:
    renewed = schema.type_named("coordination.v1.LeaseSpec").fields["renewTime"]
    created = schema.type_named("meta.v1.ObjectMeta").fields["creationTimestamp"]
    assert (renewed.of, renewed.micro, created.of, created.micro) == ("time", True, "time", False)


def test_a_kind_of_somebody_elses_has_no_type() -> None:
    assert schema.type_of("batch.volcano.sh/v1alpha1", "Job") is None


def test_a_document_becomes_lines() -> None:
    made = openapi.table(
        [
            document(
                io__k8s__api__toys__v1__Toy={
                    "x-kubernetes-group-version-kind": [{"group": "toys", "version": "v1", "kind": "Toy"}],
                    "required": ["parts"],
                    "properties": {
                        "parts": {
                            "type": "array",
                            "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.toys.v1.Part"}]},
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name", "side"],
                            "x-kubernetes-patch-merge-key": "name",
                            "x-kubernetes-patch-strategy": "merge,retainKeys",
                        },
                        "size": {"type": "string", "enum": ["big", "small"], "default": "small"},
                        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
                    },
                },
                io__k8s__api__toys__v1__Part={
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"count": {"type": "integer", "format": "int32"}},
                },
                io__k8s__api__toys__v1__ToyList={
                    "x-kubernetes-group-version-kind": [{"group": "toys", "version": "v1", "kind": "ToyList"}]
                },
            )
        ]
    )
    assert made["kinds"] == {"toys/v1/Toy": "toys.v1.Toy"}
    assert made["atomic"] == {"toys.v1.Part": True}
    assert made["types"] == {
        "toys.v1.Part": {"count": "int32"},
        "toys.v1.Toy": {
            "parts": "[]@toys.v1.Part required list=map:name,side merge=name",
            "size": 'string enum=big|small default="small"',
            "tags": "[]string merge=",
        },
    }
    text = openapi.text(made, "v9.9.9")
    assert text.startswith('{"kubernetes": "v9.9.9",\n"kinds": {\n"toys/v1/Toy": "toys.v1.Toy"\n}')


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"type": "number", "format": "float16"}, "has type number and format float16, which the table cannot say"),
        ({"type": "string", "default": "a b"}, "has a value with a space, which the table cannot say"),
    ],
)
def test_what_the_table_cannot_say_is_refused(field: dict[str, str], said: str) -> None:
    kind = {
        "x-kubernetes-group-version-kind": [{"group": "toys", "version": "v1", "kind": "Toy"}],
        "properties": {"odd": field},
    }
    with pytest.raises(EngineError, match=said):
        openapi.table([document(io__k8s__api__toys__v1__Toy=kind)])
