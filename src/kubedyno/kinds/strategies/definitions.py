"""Custom resource definitions and API services: what the server knows of them at once."""

from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube.codec import Object


def _create_definition(definition: Object, _occasion: Occasion) -> None:
    definition["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}
    _note_stored_version(definition)


def _update_definition(new: Object, _old: Object, _occasion: Occasion) -> None:
    _note_stored_version(new)


def _note_stored_version(definition: Object) -> None:
    """Remember the version that objects are now stored in: it may not be taken away any more."""
    stored = (definition.get("status") or {}).get("storedVersions") or []
    versions = definition["spec"].get("versions") or ()
    storing = next((version["name"] for version in versions if version.get("storage")), None)
    if storing is not None and storing not in stored:
        definition["status"] = {**(definition.get("status") or {}), "storedVersions": [*stored, storing]}


DEFINITIONS = Strategy(on_create=_create_definition, on_update=_update_definition, updates_unconditionally=False)


def _create_api_service(service: Object, occasion: Occasion) -> None:
    service["status"] = {}
    if "service" not in service["spec"]:
        service["status"]["conditions"] = [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": occasion.now,
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]


API_SERVICES = Strategy(
    starts_at_1=False,
    bumped_by=(),
    kept_by_status=("labels", "annotations", "finalizers", "ownerReferences"),
    updates_unconditionally=False,
    on_create=_create_api_service,
)
