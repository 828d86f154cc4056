"""All containers of a pod with their paths, in the order in which the server visits them."""

from collections.abc import Iterator

from kubedyno.kube.codec import Object


def containers_with_paths(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Init containers, containers and ephemeral containers; `path` is that of the pod's spec."""
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or ()):
            yield container, f"{path}.{name}[{index}]"
