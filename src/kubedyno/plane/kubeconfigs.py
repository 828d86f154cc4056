"""Writing kubeconfig files: one per identity, self-contained, 0600."""

import base64
from pathlib import Path

import yaml

from kubedyno.kit.durable import write_atomic
from kubedyno.plane.identities import Pki


def write(path: Path, *, server: str, pki: Pki, identity: str, lab: str, token: str = "") -> None:
    """A kubeconfig for `identity` whose context is named for the lab; with a token that is shown, not a certificate."""
    context = f"kubedyno-{lab}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [
            {"name": context, "cluster": {"server": server, "certificate-authority-data": _data(pki.ca)}},
        ],
        "users": [{"name": identity, "user": {"token": token} if token else _certificate(pki, identity)}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": identity}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, yaml.dump(document, sort_keys=False), mode=0o600)


def _certificate(pki: Pki, identity: str) -> dict[str, str]:
    return {
        "client-certificate-data": _data(pki.cert(identity)),
        "client-key-data": _data(pki.key(identity)),
    }


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
