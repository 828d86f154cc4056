import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from api_stub import Authority, JumpClock, Stub, failing, pod, reply, server_context, serving

from kubedyno.client.access import Access, ExecPlugin, TokenFile, in_cluster
from kubedyno.client.credentials import Credential, PluginSource, source_of
from kubedyno.client.rest import Client
from kubedyno.kit.clock import rfc3339
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

ONE = "/api/v1/namespaces/ns/pods/a"
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def answer(api_version: str = V1, **status: str) -> str:
    document = {"apiVersion": api_version, "kind": "ExecCredential", "status": status}
    return msgspec.json.encode(document).decode()


class Plugin:
    """A shell script as an exec plugin: prints the file `answer`, logs each run and what it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "plugin.sh"
        self.write_script('cat "$DIR/answer"')

    def write_script(self, body: str) -> None:
        text = f'#!/bin/sh\nDIR="{self.folder}"\necho "$KUBERNETES_EXEC_INFO" >> "$DIR/runs"\n{body}\n'
        self.script.write_text(text)
        self.script.chmod(0o755)

    def answers(self, text: str) -> None:
        (self.folder / "answer").write_text(text)

    @property
    def runs(self) -> list[dict[str, Any]]:
        lines = (self.folder / "runs").read_text().splitlines()
        return [msgspec.json.decode(line) for line in lines]

    def config(self, **changes: Any) -> ExecPlugin:
        config = ExecPlugin(
            command=str(self.script),
            args=(),
            env=(),
            api_version=V1,
            install_hint="",
            cluster=None,
            origin="file: user 'u'",
        )
        return msgspec.structs.replace(config, **changes)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def source(config: ExecPlugin, clock: JumpClock) -> PluginSource:
    return PluginSource(config, Credential(), clock)


async def test_the_plugins_token_is_used_until_it_expires(plugin: Plugin, stub: Stub, clock: JumpClock) -> None:
    stub.on("GET", ONE, reply(pod("a")))
    plugin.answers(answer(token="one", expirationTimestamp=rfc3339(clock.now_ns + 100 * 10**9)))
    async with Client.connect(Access(server=stub.url, token_source=plugin.config()), clock=clock) as client:
        await client.get(PODS, "a", namespace="ns")
        await client.get(PODS, "a", namespace="ns")
        plugin.answers(answer(token="two"))
        await clock.sleep(101)
        await client.get(PODS, "a", namespace="ns")
        await clock.sleep(100000)
        await client.get(PODS, "a", namespace="ns")
    assert [seen.headers["Authorization"] for seen in stub.seen] == ["Bearer one"] * 2 + ["Bearer two"] * 2
    assert len(plugin.runs) == 2
    assert plugin.runs[0] == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}


async def test_a_refused_token_runs_the_plugin_once_more(plugin: Plugin, stub: Stub, clock: JumpClock) -> None:
    stub.on("GET", ONE, failing(401), reply(pod("a")))
    plugin.answers(answer(token="t"))
    async with Client.connect(Access(server=stub.url, token_source=plugin.config()), clock=clock) as client:
        await client.get(PODS, "a", namespace="ns")
    assert len(plugin.runs) == 2


async def test_arguments_environment_and_cluster_reach_the_plugin(
    plugin: Plugin, clock: JumpClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "o")
    plugin.write_script(
        'echo "{\\"apiVersion\\":\\"' + V1BETA1 + '\\",\\"kind\\":\\"ExecCredential\\",'
        '\\"status\\":{\\"token\\":\\"$1-$2-$MINE-$FROM_OUTSIDE\\"}}"'
    )
    cluster = {"server": "https://x", "config": {"audience": "a"}}
    config = plugin.config(args=("a", "b c"), env=(("MINE", "m"),), api_version=V1BETA1, cluster=cluster)
    assert (await source(config, clock).fetch()).token == "a-b c-m-o"
    assert plugin.runs[0]["spec"] == {"interactive": False, "cluster": cluster}
    assert "KUBERNETES_EXEC_INFO" not in os.environ


async def test_a_certificate_from_the_plugin_is_presented_and_replaced(
    plugin: Plugin, clock: JumpClock, authority: Authority, tmp_path: Path
) -> None:
    people = Authority("people")
    first, second = people.issue("first"), people.issue("second")
    plugin.answers(
        answer(
            clientCertificateData=first.certificate.decode(),
            clientKeyData=first.key.decode(),
            expirationTimestamp=rfc3339(clock.now_ns + 10**9),
        )
    )
    async with serving(server_context(authority, tmp_path, clients=people)) as stub:
        stub.on("GET", ONE, reply(pod("a")))
        access = Access(server=stub.url, ca_data=authority.pem, token_source=plugin.config())
        async with Client.connect(access, clock=clock) as client:
            await client.get(PODS, "a", namespace="ns")
            plugin.answers(answer(clientCertificateData=second.certificate.decode(), clientKeyData=second.key.decode()))
            await clock.sleep(2)
            await client.get(PODS, "a", namespace="ns")
    assert len(plugin.runs) == 2
    assert len(stub.seen) == 2


async def test_a_missing_plugin_is_named_with_its_hint(plugin: Plugin, clock: JumpClock) -> None:
    config = plugin.config(command="no-such-plugin-here", install_hint="Install it with\nmake plugin.")
    with pytest.raises(UsageError, match="user 'u': the exec plugin 'no-such-plugin-here' is not installed; Install"):
        await source(config, clock).fetch()
    plugin.script.chmod(0o644)
    with pytest.raises(UsageError, match="cannot be run: Permission denied"):
        await source(plugin.config(), clock).fetch()


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo out of luck >&2; exit 3", "exited with 3: out of luck"),
        ("exit 1", "exited with 1: nothing on standard error"),
        ("echo hello", "printed no ExecCredential"),
        ("echo '{}'", "printed no kind of no version, not ExecCredential"),
        (f"echo '{answer(V1BETA1, token='t')}'", f"printed ExecCredential of {V1BETA1}, not"),
        (f"echo '{answer()}'", "neither a token nor a certificate"),
        (f"echo '{answer(token='t', clientKeyData='k')}'", "a key alone"),
        (f"echo '{answer(token='t', expirationTimestamp='soon')}'", "'soon', which is no RFC 3339 time"),
    ],
)
async def test_plugins_that_fail_are_told_in_one_sentence(
    plugin: Plugin, clock: JumpClock, script: str, expected: str
) -> None:
    plugin.write_script(script)
    with pytest.raises(EngineError) as caught:
        await source(plugin.config(), clock).fetch()
    assert expected in str(caught.value)
    assert "user 'u'" in str(caught.value)


async def test_a_plugin_that_hangs_is_ended(plugin: Plugin, clock: JumpClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubedyno.client.credentials.PLUGIN_TIMEOUT_S", 0.05)
    plugin.write_script("echo $$ > $DIR/pid; exec sleep 600")
    with pytest.raises(EngineError, match="gave no answer"):
        await source(plugin.config(), clock).fetch()
    pid = int((plugin.folder / "pid").read_text()) if (plugin.folder / "pid").exists() else None
    if pid is not None:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_pods_own_account(tmp_path: Path, clock: JumpClock) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_bytes(b"CA")
    (tmp_path / "namespace").write_text("team\n")
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    access = in_cluster(env, directory=tmp_path)
    assert (access.server, access.ca_data, access.namespace) == ("https://10.0.0.1:443", b"CA", "team")
    assert access.token_source == TokenFile(tmp_path / "token")
    assert source_of(access, clock).is_due()
    six = in_cluster({**env, "KUBERNETES_SERVICE_HOST": "fd00::1"}, directory=tmp_path)
    assert six.server == "https://[fd00::1]:443"


def test_no_pod_or_no_account_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this is no pod"):
        in_cluster({}, directory=tmp_path)
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(UsageError, match="automountServiceAccountToken"):
        in_cluster(env, directory=tmp_path)
