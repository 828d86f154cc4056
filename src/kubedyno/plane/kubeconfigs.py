"""Writing kubeconfig files: one per identity, self-contained, 0600."""

import base64
from pathlib import Path

import yaml

from kubedyno.kit.durable import write_atomic
from kubedyno.plane.identities import Pki


def write(path: Path, *, server: str, pki: Pki, identity: str, lab: str, token: str) -> None:
    """A kubeconfig for `identity`, who shows `token`; its context is named for the lab."""
    context = f"kubedyno-{lab}"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [
            {"name": context, "cluster": {"server": server, "certificate-authority-data": _data(pki.ca)}},
        ],
        "users": [{"name": identity, "user": {"token": token}}],
        "contexts": [{"name": context, "context": {"cluster": context, "user": identity}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, yaml.dump(document, sort_keys=False), mode=0o600)


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
