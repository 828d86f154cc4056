"""ServiceAccount: every pod has one, with its pull secrets and a volume with its token."""

import random
from collections.abc import Iterable, Iterator

from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import SERVICE_ACCOUNTS

_MIRROR = "kubernetes.io/config.mirror"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_VOLUME = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_CHARS = 5
_TOKEN_EXPIRES_S = 3607
_MODE = 0o644

_SOURCES: list[Object] = [
    {"serviceAccountToken": {"expirationSeconds": _TOKEN_EXPIRES_S, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
        }
    },
]


def admit_account(pod: Object, request: Asked, rng: random.Random) -> None:
    """Give a new pod its account, the account's pull secrets, and the token's volume; `spec` is replaced."""
    if _MIRROR in (pod["metadata"].get("annotations") or {}):
        _check_mirror(pod["spec"], request)
        return
    spec = dict(pod["spec"])
    pod["spec"] = spec
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = "default"
    # The old name of the field is always told beside the new one.
    spec["serviceAccount"] = name = spec["serviceAccountName"]
    account = request.lookup.get(SERVICE_ACCOUNTS, request.namespace, name)
    if account is None:
        why = f'error looking up service account {request.namespace}/{name}: serviceaccount "{name}" not found'
        raise forbidden(request, why)
    if spec.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True)):
        _mount_token(spec, rng)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [
            {"name": secret["name"]} if "name" in secret else {} for secret in account["imagePullSecrets"]
        ]
    if (account["metadata"].get("annotations") or {}).get(_ENFORCED) in _TRUE:
        _check_secrets(spec, account, request)


def _mount_token(spec: Object, rng: random.Random) -> None:
    volumes: list[Object] = spec.get("volumes") or []
    name = next((volume["name"] for volume in volumes if volume["name"].startswith(_VOLUME)), None)
    has_volume = name is not None
    if name is None:
        name = _VOLUME + "".join(rng.choices(_SUFFIX_LETTERS, k=_SUFFIX_CHARS))
    mount = {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}
    needed = False
    for group in ("initContainers", "containers"):
        if not spec.get(group):
            continue
        containers = []
        for container in spec[group]:
            mounts = container.get("volumeMounts") or ()
            if any(entry.get("mountPath") == _MOUNT_PATH for entry in mounts):
                containers.append(container)
            else:
                containers.append({**container, "volumeMounts": [*mounts, mount]})
                needed = True
        spec[group] = containers
    if needed and not has_volume:
        spec["volumes"] = [*volumes, {"name": name, "projected": {"sources": _SOURCES, "defaultMode": _MODE}}]


def _check_mirror(spec: Object, request: Asked) -> None:
    if spec.get("serviceAccountName"):
        raise forbidden(request, "a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or ()
    sources = [source for volume in volumes for source in (volume.get("projected") or {}).get("sources") or ()]
    secret = any("secret" in part for part in (*volumes, *sources)) or spec.get("imagePullSecrets")
    if secret or any(_env_secrets(spec, ("containers", "initContainers", "ephemeralContainers"))):
        raise forbidden(request, "a mirror pod may not reference secrets")
    if any("serviceAccountToken" in source for source in sources):
        raise forbidden(request, "a mirror pod may not use ServiceAccountToken volume projections")


def _check_secrets(spec: Object, account: Object, request: Asked) -> None:
    """Refuse secrets that an account, which asks for it, does not list."""
    name = account["metadata"]["name"]
    allowed = _names(account.get("secrets"))
    why = f"is not allowed because service account {name} does not reference that"
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if "secret" in volume and secret not in allowed:
            raise forbidden(request, f'volume with secret.secretName="{secret}" {why} secret')
    for what, secret in _env_secrets(spec, ("initContainers", "containers")):
        if secret not in allowed:
            raise forbidden(request, f'{what} referencing secret.secretName="{secret}" {why} secret')
    pulled = _names(account.get("imagePullSecrets"))
    for index, entry in enumerate(spec.get("imagePullSecrets") or ()):
        if entry.get("name") not in pulled:
            told = f'imagePullSecrets[{index}].name="{entry.get("name", "")}"'
            raise forbidden(request, f"{told} {why} imagePullSecret")


def _env_secrets(spec: Object, groups: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What refers to a secret in the environment of containers, in words, with the secret's name."""
    words = {"containers": "container", "initContainers": "init container"}
    for group in groups:
        for container in spec.get(group) or ():
            who = f"{words.get(group, 'ephemeral container')} {container['name']}"
            for variable in container.get("env") or ():
                secret = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if secret is not None:
                    yield f"{who} with envVar {variable['name']}", secret.get("name", "")
            for source in container.get("envFrom") or ():
                if "secretRef" in source:
                    yield f"{who} with envFrom", source["secretRef"].get("name", "")


def _names(references: list[Object] | None) -> set[str]:
    return {reference.get("name", "") for reference in references or ()}
