"""Definitions: which are accepted and what becomes of them. The sentences are those of a real API server 1.36.3."""

from typing import Any

import pytest

from kubedyno.kinds.custom import definition_rules, definitions
from kubedyno.kube import meta
from kubedyno.kube.meta import copied

pytestmark = pytest.mark.unit

GROUP = "example.com"
_STRING = {"type": "string"}
_AT = "spec.validation.openAPIV3Schema.properties[f]"


def definition(kind: str = "Widget", schema: Any = None, **names: Any) -> dict[str, Any]:
    made = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": f"{kind.lower()}s", "kind": kind, **names},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or {"type": "object", "properties": {"a": _STRING}}},
                }
            ],
        },
    }
    definitions.apply_defaults(made)
    return definitions.prepared_for_create(made)


def field(**schema: Any) -> dict[str, Any]:
    return definition(schema={"type": "object", "properties": {"f": schema}})


def told(body: dict[str, Any]) -> list[str]:
    return [f"{one.field}: {one.message}" for one in definition_rules.create_problems(body)]


def test_names_and_conversion_have_defaults() -> None:
    spec = definition()["spec"]
    assert spec["names"] == {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
    assert spec["conversion"] == {"strategy": "None"}


def test_a_new_definition_knows_the_version_that_it_stores() -> None:
    made = definition()
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


@pytest.mark.parametrize(
    "body",
    [
        definition(),
        field(type="array", items=_STRING, **{"x-kubernetes-list-type": "set"}),
        field(**{"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, _STRING]}),
        field(type="object", **{"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
        field(type="string", default="x", enum=["x"]),
    ],
)
def test_a_good_definition_is_accepted(body: dict[str, Any]) -> None:
    assert told(body) == []


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        ({}, [f"{_AT}.type: Required value: must not be empty for specified object fields"]),
        (
            {"type": "text"},
            [
                (
                    f'{_AT}.type: Unsupported value: "text": supported values: '
                    '"array", "boolean", "integer", "number", "object", "string"'
                )
            ],
        ),
        ({"type": "array"}, [f"{_AT}.items: Required value: must be specified"]),
        (
            {"type": "object", "properties": {"a": _STRING}, "additionalProperties": _STRING},
            [f"{_AT}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
        (
            {"type": "string", "anyOf": [{"type": "string"}]},
            [f"{_AT}.anyOf[0].type: Forbidden: must be empty to be structural"],
        ),
        (
            {"type": "string", "pattern": "[a"},
            [
                (
                    f'{_AT}.pattern: Invalid value: "[a": must be a valid regular expression, but isn\'t: '
                    "error parsing regexp: missing closing ]: `[a`"
                )
            ],
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            [
                (
                    f"{_AT}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
                    "without x-kubernetes-preserve-unknown-fields"
                )
            ],
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            [f"{_AT}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            [f"{_AT}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
        ),
        (
            {"type": "string", "default": 5},
            [f'{_AT}.default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            {"type": "object", "properties": {"a": _STRING}, "default": {"b": 1}},
            [f'{_AT}.default: Invalid value: {{"b":1}}: must not have unknown fields'],
        ),
        (
            {"type": "array", "items": _STRING, "uniqueItems": True},
            [
                (
                    f"{_AT}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity "
                    "becomes quadratic"
                )
            ],
        ),
    ],
)
def test_a_bad_schema_is_refused_in_the_servers_words(schema: dict[str, Any], problems: list[str]) -> None:
    assert told(field(**schema)) == problems


def test_versions_are_shown_as_go_prints_them() -> None:
    body = definition()
    body["spec"]["versions"][0]["storage"] = False
    assert told(body)[0] == (
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,'
        '"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,'
        '"SelectableFields":null}]: must have exactly one version marked as storage version'
    )


def test_the_name_is_plural_and_group() -> None:
    body = definition()
    body["metadata"]["name"] = "other.example.com"
    assert told(body) == ['metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group']


def test_a_group_of_kubernetes_wants_an_approval() -> None:
    body = definition()
    body["spec"]["group"] = "example.k8s.io"
    body["metadata"]["name"] = "widgets.example.k8s.io"
    assert told(body) == [
        (
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval "
            'annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
        )
    ]
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a test"}
    assert told(body) == []
    noted = meta.condition(definitions.approval_noted(body, now="now"), "KubernetesAPIApprovalPolicyConformant")
    assert noted is not None
    assert (noted["status"], noted["reason"]) == ("False", "UnapprovedAnnotation")


@pytest.mark.parametrize(
    ("edit", "problems"),
    [
        ({"scope": "Cluster"}, ['spec.scope: Invalid value: "Cluster": field is immutable']),
        ({"group": "other.com"}, ['spec.group: Invalid value: "other.com": field is immutable']),
        ({}, []),
    ],
)
def test_what_names_a_kind_does_not_change(edit: dict[str, Any], problems: list[str]) -> None:
    live = definitions.established(definitions.named(definition(), [], now="now"), now="now")
    new = copied(live)
    new["spec"].update(edit)
    found = definition_rules.update_problems(definitions.prepared_for_update(new, live), live)
    assert [f"{one.field}: {one.message}" for one in found] == problems


def test_a_version_that_was_stored_must_stay() -> None:
    live = definition()
    new = copied(live)
    new["spec"]["versions"][0]["name"] = "v2"
    found = definition_rules.update_problems(definitions.prepared_for_update(new, live), live)
    assert [f"{one.field}: {one.message}" for one in found] == [
        (
            'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
            "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "
            "v1 and removes v1 from status.storedVersions"
        )
    ]


def _states(body: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in body["status"]["conditions"]}


def test_free_names_are_given_and_the_kind_is_established() -> None:
    named = definitions.named(definition(shortNames=["wd"]), [], now="first")
    assert named["status"]["acceptedNames"] == named["spec"]["names"]
    assert _states(named) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("False", "Installing", "the initial names have been accepted"),
    }
    served = definitions.established(named, now="then")
    assert _states(served)["Established"] == (
        "True",
        "InitialNamesAccepted",
        "the initial names have been accepted",
    )
    assert [one["lastTransitionTime"] for one in served["status"]["conditions"]] == ["first", "then"]
    assert definitions.named(served, [], now="later") is served


def test_names_that_are_taken_are_not_given() -> None:
    first = definitions.named(definition("Apple", shortNames=["ap", "pl"]), [], now="now")
    rival = definitions.named(definition("Berry", shortNames=["ap", "pl", "by"]), [first], now="now")
    assert _states(rival) == {
        "NamesAccepted": ("False", "ShortNamesConflict", '["ap" is already in use, "pl" is already in use]'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert "shortNames" not in rival["status"]["acceptedNames"]
    assert definitions.established(rival, now="now") is rival


def test_a_deleted_definition_is_held_until_its_objects_are_gone() -> None:
    live = definitions.established(definitions.named(definition(), [], now="now"), now="now")
    pending = definitions.deletion_pending(live, now="end")
    assert pending["metadata"]["finalizers"] == [definitions.CLEANUP_FINALIZER]
    assert pending["metadata"]["deletionTimestamp"] == "end"
    assert _states(pending)["Terminating"][:2] == ("True", "InstanceDeletionPending")
    begun = definitions.deletion_begun(pending, now="end")
    assert _states(begun)["Terminating"] == (
        "True",
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
    )
    done = definitions.deletion_done(begun, now="end")
    assert "finalizers" not in done["metadata"]
    assert _states(done)["Terminating"] == ("False", "InstanceDeletionCompleted", "removed all instances")


def test_unknown_formats_are_warned_of_once() -> None:
    body = field(type="string", format="odd")
    assert definitions.format_warnings(body) == ['unrecognized format "odd"']
    assert definitions.format_warnings(body, body) == []
