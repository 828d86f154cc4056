import stat
from pathlib import Path

import pytest
import yaml

from kubedyno.client import kubeconfig
from kubedyno.client.access import StaticToken
from kubedyno.kit.clock import RealClock
from kubedyno.plane import kubeconfigs, pki
from kubedyno.plane.identities import Identity

pytestmark = pytest.mark.unit


def test_the_file_is_what_our_client_and_kubectl_read(tmp_path: Path) -> None:
    material = pki.create(tmp_path / "pki", (Identity(name="admin", user="me"),), clock=RealClock())
    path = tmp_path / "kubeconfigs" / "admin.yaml"
    kubeconfigs.write(
        path, server="https://127.0.0.1:6443", pki=material, identity="admin", lab="my-lab", token="shown"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    access = kubeconfig.load(path)
    assert access.server == "https://127.0.0.1:6443"
    assert access.ca_data == material.ca.read_bytes()
    assert access.token_source == StaticToken("shown")
    document = yaml.safe_load(path.read_text())
    assert document["current-context"] == "kubedyno-my-lab"
    assert document["kind"] == "Config"


def test_it_needs_no_other_file(tmp_path: Path) -> None:
    material = pki.create(tmp_path / "pki", (Identity(name="admin", user="me"),), clock=RealClock())
    kubeconfigs.write(tmp_path / "admin.yaml", server="https://x", pki=material, identity="admin", lab="l", token="t")
    before = kubeconfig.load(tmp_path / "admin.yaml")
    for file in material.folder.iterdir():
        file.unlink()
    assert kubeconfig.load(tmp_path / "admin.yaml") == before
