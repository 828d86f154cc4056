"""What the server warns of whenever a version of its own is asked for that is on its way out."""

from kubedyno.kube.resources import Resource

_RULES: dict[tuple[str, str], str] = {
    ("v1", "Endpoints"): "v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ("v1", "ComponentStatus"): "v1.19+",
    ("resource.k8s.io/v1beta2", "ResourceClaim"): "v1.36+, unavailable in v1.39+",
    ("resource.k8s.io/v1beta2", "ResourceClaimTemplate"): "v1.36+, unavailable in v1.39+",
    ("resource.k8s.io/v1beta2", "ResourceSlice"): "v1.36+, unavailable in v1.39+",
    ("resource.k8s.io/v1beta2", "DeviceClass"): "v1.36+, unavailable in v1.39+",
}


def deprecation(resource: Resource) -> str:
    """The warning; empty for a version that stays."""
    since = _RULES.get((resource.api_version, resource.kind))
    return f"{resource.api_version} {resource.kind} is deprecated in {since}" if since else ""
