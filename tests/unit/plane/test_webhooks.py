from pathlib import Path

import pytest

from kubedyno.plane.identities import Authority
from kubedyno.plane.webhooks import Hook, Webhooks

pytestmark = pytest.mark.unit

WEBHOOKS = Webhooks(
    name="mine",
    port=9443,
    authority=Authority(name="mine", common_name="my-ca"),
    secret_namespace="mine-system",
    secret_name="certs",
    hooks=(
        Hook(name="m.x", manner="mutating", path="/mutate", group="", version="v1", resources=("pods",)),
        Hook(
            name="v.x",
            manner="validating",
            path="/validate",
            group="x",
            version="v2",
            resources=("ys", "ys/status"),
            operations=("DELETE",),
            must_answer=False,
        ),
    ),
    converts=("ys.x",),
)


def test_hooks_are_called_on_loopback_for_what_they_name() -> None:
    mutating, validating = WEBHOOKS.configurations()
    assert (mutating["kind"], mutating["metadata"]["name"]) == (
        "MutatingWebhookConfiguration",
        "mine-mutating-webhook-configuration",
    )
    assert [hook["name"] for hook in mutating["webhooks"]] == ["m.x"]
    assert validating["webhooks"] == [
        {
            "name": "v.x",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:9443/validate"},
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "rules": [
                {
                    "apiGroups": ["x"],
                    "apiVersions": ["v2"],
                    "operations": ["DELETE"],
                    "resources": ["ys", "ys/status"],
                }
            ],
        }
    ]


def test_definitions_that_it_converts_say_where_and_others_stay() -> None:
    definition = {"metadata": {"name": "ys.x"}, "spec": {"group": "x"}}
    assert WEBHOOKS.converted(definition)["spec"] == {
        "group": "x",
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://127.0.0.1:9443/convert"},
                "conversionReviewVersions": ["v1"],
            },
        },
    }
    assert definition["spec"] == {"group": "x"}
    other = {"metadata": {"name": "zs.x"}, "spec": {}}
    assert WEBHOOKS.converted(other) is other


def test_the_secret_has_the_files_and_that_of_plans_has_none(tmp_path: Path) -> None:
    for name in ("ca.crt", "ca.key", "tls.crt", "tls.key"):
        (tmp_path / name).write_text("x")
    assert set(WEBHOOKS.secret(tmp_path)["data"].values()) == {"eA=="}
    assert WEBHOOKS.bare_secret() == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "certs", "namespace": "mine-system"},
    }
