import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedyno.client import kubeconfig
from kubedyno.client.access import ExecPlugin, StaticToken, TokenFile
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit

V1 = "client.authentication.k8s.io/v1"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def config(
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    name: str = "main",
    current: str | None = "main",
    namespace: str | None = None,
) -> dict[str, Any]:
    context = {"cluster": name, "user": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        **({"current-context": current} if current else {}),
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": context}],
        "preferences": {},
    }


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(UsageError) as caught:
        kubeconfig.load(path, env={}, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_embedded_data_and_token(tmp_path: Path) -> None:
    cluster = {"certificate-authority-data": encoded(b"CA"), "tls-server-name": "api.test"}
    user = {
        "client-certificate-data": encoded(b"CERT"),
        "client-key-data": encoded(b"KEY"),
        "client-key": "ignored",
        "token": "t",
    }
    file = write(tmp_path / "config", config(cluster=cluster, user=user, namespace="team"))
    access = kubeconfig.load(file)
    assert access.server == "https://main:6443"
    assert (access.ca_data, access.client_certificate, access.client_key) == (b"CA", b"CERT", b"KEY")
    assert (access.tls_server_name, access.namespace, access.insecure) == ("api.test", "team", False)
    assert access.token_source == StaticToken("t")
    assert str(file) in access.origin


def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    for name in ("ca", "cert", "key"):
        (tmp_path / "pki" / name).write_text(name)
    user = {
        "client-certificate": "pki/cert",
        "client-key": str(tmp_path / "pki" / "key"),
        "tokenFile": "pki/token",
        "token": "older",
    }
    file = write(tmp_path / "config", config(cluster={"certificate-authority": "pki/ca"}, user=user))
    access = kubeconfig.load(file)
    assert (access.ca_data, access.client_certificate, access.client_key) == (b"ca", b"cert", b"key")
    assert access.token_source == TokenFile(tmp_path / "pki" / "token")


def test_another_context_and_a_user_free_one(tmp_path: Path) -> None:
    document = config()
    document["contexts"].append({"name": "anonymous", "context": {"cluster": "main", "user": ""}})
    access = kubeconfig.load(write(tmp_path / "config", document), context="anonymous")
    assert access.token_source is None
    assert access.namespace == "default"


def test_the_first_file_that_sets_a_name_wins(tmp_path: Path) -> None:
    first = config(cluster={"server": "https://first"}, current=None)
    second = config(cluster={"server": "https://second", "insecure-skip-tls-verify": True}, user={"token": "second"})
    second["users"].append({"name": "more", "user": {"token": "more"}})
    second["contexts"].append({"name": "mixed", "context": {"cluster": "main", "user": "more"}})
    files = [write(tmp_path / "a", first), tmp_path / "missing", write(tmp_path / "b", second)]
    env = {"KUBECONFIG": ":".join(map(str, [*files, "", files[0]]))}
    access = kubeconfig.load(env=env)
    # Entries are taken whole: the second file's insecure flag and token do not leak into the first's entries.
    assert (access.server, access.insecure, access.token_source) == ("https://first", False, None)
    mixed = kubeconfig.load(env=env, context="mixed")
    assert (mixed.server, mixed.token_source) == ("https://first", StaticToken("more"))


def test_the_default_is_in_the_home_folder(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    with pytest.raises(UsageError, match=r"no kubeconfig: .*/\.kube/config does not exist; name one with"):
        kubeconfig.load(env=env)
    write(tmp_path / ".kube" / "config", config())
    assert kubeconfig.load(env=env).server == "https://main:6443"


def test_a_pod_without_a_kubeconfig_uses_its_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    monkeypatch.setattr(kubeconfig, "in_cluster", lambda found: found)
    assert kubeconfig.load(env=env) is env  # type: ignore[comparison-overlap] # the stand-in's answer


def test_an_empty_or_null_kubeconfig_has_no_context(tmp_path: Path) -> None:
    assert "no current-context is set" in refusal(write(tmp_path / "a", ""))
    nulls = {"clusters": None, "users": None, "contexts": None, "current-context": ""}
    assert "none are known" in refusal(write(tmp_path / "b", nulls))


def test_unknown_names_are_told_with_the_nearest(tmp_path: Path) -> None:
    file = write(tmp_path / "config", config())
    assert refusal(file, context="maain") == f"{file}: there is no context 'maain': did you mean 'main'?"
    document = config()
    document["contexts"][0]["context"]["cluster"] = "other"
    message = refusal(write(tmp_path / "b", document))
    assert "context 'main': there is no cluster 'other': known are: main" in message
    document = config()
    document["contexts"][0]["context"]["user"] = "maim"
    assert "there is no user 'maim': did you mean 'main'?" in refusal(write(tmp_path / "c", document))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "config:2:1: did not find expected node content"),
        ("clusters:\n- name: x\n cluster: y", "config:3:2: did not find expected"),
        ("[]", "config:1: a document must be a mapping"),
        ("users:\n- name: 7", "malformed: Expected `str`, got `int` - at `$.users[0].name`"),
        ("users:\n- user: {}", "malformed: Object missing required field `name`"),
        (b"\xff\xfe\x00", "the YAML cannot be read"),
    ],
)
def test_files_that_do_not_parse(tmp_path: Path, text: str | bytes, expected: str) -> None:
    file = tmp_path / "config"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    message = refusal(file)
    assert str(file) in message
    assert expected in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"{tmp_path / 'none'} cannot be read: No such file or directory"
    assert "Is a directory" in refusal(tmp_path)
    file = write(tmp_path / "config", config(cluster={"certificate-authority": "gone.crt"}))
    assert refusal(file) == f"{tmp_path / 'gone.crt'} cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("cluster", "user", "expected"),
    [
        ({"proxy-url": "http://p"}, {}, "cluster 'main': proxy-url is not supported"),
        ({"server": ""}, {}, "server '' is no http or https URL"),
        ({"server": "ftp://x"}, {}, "server 'ftp://x' is no http"),
        ({"insecure-skip-tls-verify": True, "certificate-authority": "x"}, {}, "exclude each other"),
        ({"certificate-authority-data": "%%"}, {}, "certificate-authority-data is no base64"),
        ({}, {"username": "u", "password": "p"}, "user 'main': basic authentication was removed"),
        ({}, {"auth-provider": {"name": "gcp"}}, "auth-provider was removed"),
        ({}, {"as": "boss"}, "impersonation ('as') is not supported"),
        ({}, {"client-certificate-data": encoded(b"c")}, "user 'main' has no client-key"),
        ({}, {"client-key-data": encoded(b"c")}, "user 'main' has no client-certificate"),
        ({}, {"exec": {"command": "x"}}, "exec apiVersion '' is not supported"),
        ({}, {"exec": {"apiVersion": V1}}, "missing required field `command`"),
        ({}, {"exec": {"command": "x", "apiVersion": V1}, "token": "t"}, "both an exec plugin and a token"),
        ({}, {"exec": {"command": "x", "apiVersion": V1, "interactiveMode": "Always"}}, "wants a terminal"),
    ],
)
def test_what_is_not_supported_is_said(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], expected: str
) -> None:
    file = write(tmp_path / "config", config(cluster=cluster, user=user))
    message = refusal(file)
    assert message.startswith(str(file))
    assert expected in message


def test_exec_plugins_are_taken_with_what_they_ask_for(tmp_path: Path) -> None:
    spec = {
        "apiVersion": V1,
        "command": "./bin/plugin",
        "args": ["a"],
        "env": [{"name": "X", "value": "y"}],
        "installHint": "install me",
        "provideClusterInfo": True,
        "interactiveMode": "IfAvailable",
    }
    cluster = {
        "certificate-authority-data": encoded(b"CA"),
        "tls-server-name": "n",
        "extensions": [
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
        ],
    }
    file = write(tmp_path / "config", config(cluster=cluster, user={"exec": spec}))
    assert kubeconfig.load(file).token_source == ExecPlugin(
        command=str(tmp_path / "bin" / "plugin"),
        args=("a",),
        env=(("X", "y"),),
        api_version=V1,
        install_hint="install me",
        cluster={
            "server": "https://main:6443",
            "tls-server-name": "n",
            "certificate-authority-data": encoded(b"CA"),
            "config": {"audience": "a"},
        },
        origin=f"{file}: user 'main'",
    )
    bare = {"exec": {**spec, "command": "plugin", "args": None, "provideClusterInfo": False}}
    source = kubeconfig.load(write(tmp_path / "bare", config(user=bare))).token_source
    assert isinstance(source, ExecPlugin)
    assert (source.command, source.args, source.cluster) == ("plugin", (), None)
