"""Which volume fits a claim."""

from collections.abc import Iterable

from kubedyno.controllers.podfacts import is_deleting, name, uid
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.selectors import LabelSelector

BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"

FREE = ""
"""Where `claims_of` puts volumes that are nobody's."""


def claims_of(volume: Object) -> tuple[str]:
    """`namespace/name` of the claim that a volume is set aside for, as an index has it."""
    reference = volume["spec"].get("claimRef")
    return (FREE if reference is None else f"{reference.get('namespace', '')}/{reference['name']}",)


def wanted_storage(claim: Object) -> Quantity:
    """How much a claim asks for."""
    return Quantity.parse(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", 0))


def is_claimed_by(volume: Object, claim: Object) -> bool:
    """Whether a volume is set aside for a claim, by its name and, where it says so, its uid."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    if (reference.get("namespace"), reference.get("name")) != meta.key(claim):
        return False
    return reference.get("uid") in {None, "", uid(claim)}


def find(claim: Object, volumes: Iterable[Object]) -> Object | None:
    """The volume that is set aside for the claim, else the smallest free one that is good enough."""
    spec = claim["spec"]
    selector = LabelSelector.from_object(spec["selector"]) if spec.get("selector") else None
    fitting: list[tuple[Quantity, str, Object]] = []
    for volume in volumes:
        if spec.get("volumeName") and spec["volumeName"] != name(volume):
            continue
        if is_claimed_by(volume, claim):
            return volume
        if volume["spec"].get("claimRef") is not None or is_deleting(volume):
            continue
        if _fits(claim, volume) and (selector is None or selector.matches(meta.labels(volume))):
            size = Quantity.parse((volume["spec"].get("capacity") or {}).get("storage", 0))
            fitting.append((size, name(volume), volume))
    return min(fitting, key=lambda entry: entry[:2])[2] if fitting else None


def _fits(claim: Object, volume: Object) -> bool:
    wanted, offered = claim["spec"], volume["spec"]
    return (
        (wanted.get("storageClassName") or "") == (offered.get("storageClassName") or "")
        and wanted.get("volumeMode", "Filesystem") == offered.get("volumeMode", "Filesystem")
        and set(wanted.get("accessModes") or ()) <= set(offered.get("accessModes") or ())
        and Quantity.parse((offered.get("capacity") or {}).get("storage", 0)) >= wanted_storage(claim)
    )


def claim_reference(claim: Object) -> Object:
    """The claimRef of a volume."""
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": claim["metadata"]["namespace"],
        "name": name(claim),
        "uid": uid(claim),
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }
