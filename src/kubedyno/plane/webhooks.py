"""What the API server calls a component for: conversions of custom kinds, and admission.

As data, so that a plan shows the addresses; keys and certificates are made at the start and are in no plan. The
component injects the CA into what it is called by, and takes it from a Secret: the way of cert-controller, which many
projects use.
"""

import base64
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.plane.identities import Authority
from kubedyno.plane.ports import LOOPBACK

_MATERIAL = ("ca.crt", "ca.key", "tls.crt", "tls.key")
_KINDS = {"mutating": "MutatingWebhookConfiguration", "validating": "ValidatingWebhookConfiguration"}

Manner: TypeAlias = Literal["mutating", "validating"]


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One admission webhook: called for these operations on these resources of one group and version."""

    name: str
    manner: Manner
    path: str
    group: str
    version: str
    resources: tuple[str, ...]
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    must_answer: bool = True
    """Whether writes are refused while nobody answers."""


class Webhooks(msgspec.Struct, frozen=True, kw_only=True):
    """All that the API server calls one component for."""

    name: str
    """What the names of its configuration objects begin with."""
    port: int
    authority: Authority
    secret_namespace: str
    secret_name: str
    hooks: tuple[Hook, ...]
    converts: tuple[str, ...] = ()
    """Names of the CRDs whose versions it converts."""

    def url(self, path: str) -> str:
        """Where the API server calls it."""
        return f"https://{LOOPBACK}:{self.port}{path}"

    def configurations(self) -> list[Object]:
        """The objects that tell the API server when to call it."""
        return [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": f"{self.name}-{manner}-webhook-configuration"},
                "webhooks": [self._hook(hook) for hook in self.hooks if hook.manner == manner],
            }
            for manner, kind in _KINDS.items()
        ]

    def converted(self, definition: Object) -> Object:
        """A CRD, with the address of its conversion where this component converts it."""
        if definition["metadata"]["name"] not in self.converts:
            return definition
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": self.url("/convert")}, "conversionReviewVersions": ["v1"]},
        }
        return {**definition, "spec": {**definition["spec"], "conversion": conversion}}

    def secret(self, folder: Path) -> Object:
        """The Secret that the component reads its certificates from; `folder` has the authority's files."""
        return {
            **self.bare_secret(),
            "data": {name: base64.b64encode((folder / name).read_bytes()).decode() for name in _MATERIAL},
        }

    def bare_secret(self) -> Object:
        """The Secret without what makes it one: for plans."""
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.secret_name, "namespace": self.secret_namespace},
        }

    def _hook(self, hook: Hook) -> dict[str, Any]:
        return {
            "name": hook.name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": self.url(hook.path)},
            "failurePolicy": "Fail" if hook.must_answer else "Ignore",
            "sideEffects": "None",
            "rules": [
                {
                    "apiGroups": [hook.group],
                    "apiVersions": [hook.version],
                    "operations": list(hook.operations),
                    "resources": list(hook.resources),
                }
            ],
        }
