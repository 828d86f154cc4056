"""Defaults of CustomResourceDefinitions."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

CONSTANTS: Constants = {
    "apiextensions.v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions.v1.ServiceReference": {"port": 443},
}


def _definition(obj: Object) -> None:
    status = obj["status"]
    if not status.get("storedVersions"):
        stored = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


def _names(names: Object) -> None:
    kind = names.get("kind")
    if kind:
        names.setdefault("singular", kind.lower())
        names["listKind"] = names.get("listKind") or f"{kind}List"


def _spec(spec: Object) -> None:
    # By hand, because the names that were accepted (in the status) are of the same type and have no defaults.
    _names(spec["names"])


def _conversion(conversion: Object) -> None:
    if conversion.get("webhook") == {"conversionReviewVersions": None}:
        del conversion["webhook"]  # inside the server its fields are the conversion's own


FUNCTIONS: Functions = {
    "apiextensions.v1.CustomResourceConversion": _conversion,
    "apiextensions.v1.CustomResourceDefinition": _definition,
    "apiextensions.v1.CustomResourceDefinitionSpec": _spec,
}
