"""DefaultTolerationSeconds: pods stay five minutes on a node that is lost; and how tolerations are merged."""

from kubedyno.kube.codec import Object

_SECONDS = 300
_LOST = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def admit_tolerations(pod: Object) -> None:
    """Have both tolerations, unless the pod says itself how long it stays; `spec` is replaced."""
    tolerations: list[Object] = pod["spec"].get("tolerations") or []
    # Any effect and any key say it too.
    told = {entry.get("key", "") for entry in tolerations if entry.get("effect", "") in ("", "NoExecute")}
    added = [toleration for toleration in _LOST if not told & {"", toleration["key"]}]
    if added:
        pod["spec"] = {**pod["spec"], "tolerations": [*tolerations, *added]}


def merged(first: list[Object], second: list[Object]) -> list[Object]:
    """Both lists without the tolerations that another one covers."""
    every = [*first, *second]
    kept: list[Object] = []
    for index, toleration in enumerate(every):
        if any(_covers(other, toleration) for other in kept):
            continue
        if any(other != toleration and _covers(other, toleration) for other in every[index + 1 :]):
            continue
        kept.append(toleration)
    return kept


def _covers(wider: Object, narrower: Object) -> bool:
    if wider == narrower:
        return True
    exists = wider.get("operator") == "Exists"
    if wider.get("key", "") != narrower.get("key", "") and (wider.get("key") or not exists):
        return False
    if wider.get("effect") and wider["effect"] != narrower.get("effect"):
        return False
    if wider.get("effect") == "NoExecute" and "tolerationSeconds" in wider:
        seconds = narrower.get("tolerationSeconds")
        if seconds is None or seconds > wider["tolerationSeconds"]:
            return False
    if exists:
        return True
    # An operator that is not written means Equal only on the wider side.
    is_equal = wider.get("operator", "Equal") == narrower.get("operator") == "Equal"
    return is_equal and narrower.get("value") == wider.get("value")
