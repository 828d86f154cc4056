"""kubeconfig files: several merged by kubectl's rules, one context of them turned into an `Access`."""

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import msgspec

from kubedyno.client.access import Access, ExecPlugin, StaticToken, TokenFile, TokenSource, in_cluster
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec

EXEC_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"

Read = Callable[[Path], bytes]
Entry = TypeVar("Entry")


class _Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[_Extension] = []


class _ExecVariable(msgspec.Struct):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] = []
    env: list[_ExecVariable] = []
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    auth_provider: Any = None
    exec: _Exec | None = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster = msgspec.field(default_factory=_Cluster)


class _NamedUser(msgspec.Struct):
    name: str
    user: _User = msgspec.field(default_factory=_User)


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context = msgspec.field(default_factory=_Context)


class _File(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


class _Found(msgspec.Struct, Generic[Entry]):
    """An entry and the file it came from: relative paths are relative to that file."""

    entry: Entry
    file: Path


class Kubeconfig(msgspec.Struct):
    """The merged files: of entries of one name, the first file's wins whole, as with kubectl."""

    files: tuple[Path, ...]
    clusters: dict[str, _Found[_Cluster]]
    users: dict[str, _Found[_User]]
    contexts: dict[str, _Found[_Context]]
    current_context: str

    @property
    def origin(self) -> str:
        """The files, for messages."""
        return ", ".join(str(file) for file in self.files)


def load(path: Path | None = None, *, context: str | None = None, env: Mapping[str, str] = os.environ) -> Access:
    """The access that kubectl would use: `path`, else KUBECONFIG, else ~/.kube/config, else the pod's own account.

    `context` chooses another one than the current context.
    """
    files = [path] if path is not None else _default_files(env)
    if path is None:
        # kubectl skips files of KUBECONFIG that do not exist; one that was named by itself must.
        there = [file for file in files if file.exists()]
        if not there and context is None and env.get("KUBERNETES_SERVICE_HOST"):
            return in_cluster(env)
        if not there:
            raise UsageError(
                f"no kubeconfig: {', '.join(map(str, files))} does not exist; name one with --kubeconfig or KUBECONFIG"
            )
        files = there
    return resolve(merge((file, parse(_read(file), file)) for file in files), context=context)


def parse(data: bytes, file: Path) -> _File:
    """One file's content; errors name the file and the field."""
    documents = codec.read_yaml(data, source=str(file))
    if not documents:
        return _File()
    try:
        return msgspec.convert(_without_nulls(documents[0]), _File)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: the kubeconfig is malformed: {error}") from error


def merge(files: Iterable[tuple[Path, _File]]) -> Kubeconfig:
    """Several files as one; the first to define a name or the current context wins."""
    merged = Kubeconfig((), {}, {}, {}, "")
    for path, file in files:
        merged.files += (path,)
        for cluster in file.clusters:
            merged.clusters.setdefault(cluster.name, _Found(cluster.cluster, path))
        for user in file.users:
            merged.users.setdefault(user.name, _Found(user.user, path))
        for context in file.contexts:
            merged.contexts.setdefault(context.name, _Found(context.context, path))
        merged.current_context = merged.current_context or file.current_context
    return merged


def resolve(config: Kubeconfig, *, context: str | None = None, read: Read | None = None) -> Access:
    """One context of the merged files as an access; `read` fetches the files that entries point to."""
    name = context or config.current_context
    if not name:
        raise UsageError(
            f"{config.origin}: no current-context is set; choose one with --context ({suggestion('', config.contexts)})"
        )
    chosen = _lookup(config.contexts, name, "context", config.origin).entry
    where = f"context {name!r}"
    cluster = _lookup(config.clusters, chosen.cluster, "cluster", f"{config.origin}: {where}")
    user = (
        _lookup(config.users, chosen.user, "user", f"{config.origin}: {where}")
        if chosen.user
        else _Found(_User(), cluster.file)
    )
    _refuse_unsupported(cluster, chosen.cluster, user, chosen.user)
    fetch = read or _read
    ca_data = _pem(
        cluster,
        "certificate-authority",
        cluster.entry.certificate_authority_data,
        cluster.entry.certificate_authority,
        fetch,
    )
    certificate = _pem(
        user, "client-certificate", user.entry.client_certificate_data, user.entry.client_certificate, fetch
    )
    key = _pem(user, "client-key", user.entry.client_key_data, user.entry.client_key, fetch)
    if (certificate is None) != (key is None):
        missing = "client-key" if key is None else "client-certificate"
        raise UsageError(f"{user.file}: user {chosen.user!r} has no {missing}: it needs certificate and key")
    return Access(
        server=cluster.entry.server.rstrip("/"),
        ca_data=ca_data,
        insecure=cluster.entry.insecure_skip_tls_verify,
        tls_server_name=cluster.entry.tls_server_name or None,
        client_certificate=certificate,
        client_key=key,
        token_source=_token_source(user, chosen.user, cluster.entry, ca_data),
        namespace=chosen.namespace or "default",
        origin=f"{config.origin}, {where}",
    )


def _default_files(env: Mapping[str, str]) -> list[Path]:
    named = [Path(item) for item in env.get("KUBECONFIG", "").split(os.pathsep) if item]
    if named:
        return list(dict.fromkeys(named))
    home = env.get("HOME")
    return [(Path(home) if home else Path.home()) / ".kube" / "config"]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from error


def _without_nulls(value: Any) -> Any:
    """Of kubectl, which writes `users: null` for an empty list; absent is what that means."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _lookup(entries: Mapping[str, _Found[Entry]], name: str, what: str, where: str) -> _Found[Entry]:
    try:
        return entries[name]
    except KeyError:
        raise UsageError(f"{where}: there is no {what} {name!r}: {suggestion(name, entries)}") from None


def _refuse_unsupported(cluster: _Found[_Cluster], cluster_name: str, user: _Found[_User], user_name: str) -> None:
    at_cluster, at_user = f"{cluster.file}: cluster {cluster_name!r}", f"{user.file}: user {user_name!r}"
    address = urlsplit(cluster.entry.server)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise UsageError(f"{at_cluster}: server {cluster.entry.server!r} is no http or https URL")
    if cluster.entry.proxy_url:
        raise UsageError(f"{at_cluster}: proxy-url is not supported; use a cluster reached without a proxy")
    if cluster.entry.insecure_skip_tls_verify and (
        cluster.entry.certificate_authority or cluster.entry.certificate_authority_data
    ):
        raise UsageError(f"{at_cluster}: insecure-skip-tls-verify and a certificate-authority exclude each other")
    if user.entry.username or user.entry.password:
        raise UsageError(f"{at_user}: basic authentication was removed from Kubernetes; use a token or certificate")
    if user.entry.auth_provider is not None:
        raise UsageError(f"{at_user}: auth-provider was removed from Kubernetes; use its exec plugin")
    if user.entry.impersonate:
        raise UsageError(f"{at_user}: impersonation ('as') is not supported; use a user with the rights it needs")


def _pem(found: _Found[Entry], field: str, data: str, path: str, read: Read) -> bytes | None:
    """Embedded data wins over a file, as with kubectl."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise UsageError(f"{found.file}: {field}-data is no base64: {error}") from error
    return read(_beside(found.file, path)) if path else None


def _beside(file: Path, path: str) -> Path:
    return file.parent / Path(path)  # an absolute path stays as it is


def _token_source(user: _Found[_User], name: str, cluster: _Cluster, ca_data: bytes | None) -> TokenSource | None:
    entry = user.entry
    if entry.exec is not None and (entry.token or entry.token_file):
        raise UsageError(f"{user.file}: user {name!r} has both an exec plugin and a token; keep one")
    if entry.token_file:
        return TokenFile(_beside(user.file, entry.token_file))
    if entry.token:
        return StaticToken(entry.token)
    if entry.exec is not None:
        return _exec_plugin(entry.exec, f"{user.file}: user {name!r}", user.file, cluster, ca_data)
    return None


def _exec_plugin(spec: _Exec, origin: str, file: Path, cluster: _Cluster, ca_data: bytes | None) -> ExecPlugin:
    if spec.api_version not in EXEC_API_VERSIONS:
        raise UsageError(
            f"{origin}: exec apiVersion {spec.api_version!r} is not supported: write {' or '.join(EXEC_API_VERSIONS)}"
        )
    if spec.interactive_mode == "Always":
        raise UsageError(f"{origin}: the exec plugin {spec.command!r} wants a terminal, which a load test has not")
    # A command with a slash is relative to the kubeconfig, a bare name is looked up in PATH.
    command = str(_beside(file, spec.command)) if "/" in spec.command else spec.command
    return ExecPlugin(
        command=command,
        args=tuple(spec.args),
        env=tuple((variable.name, variable.value) for variable in spec.env),
        api_version=spec.api_version,
        install_hint=spec.install_hint,
        cluster=_exec_cluster(cluster, ca_data) if spec.provide_cluster_info else None,
        origin=origin,
    )


def _exec_cluster(cluster: _Cluster, ca_data: bytes | None) -> dict[str, Any]:
    """What a plugin with provideClusterInfo learns: the v1 `Cluster` of the exec API."""
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    if ca_data:
        info["certificate-authority-data"] = base64.b64encode(ca_data).decode()
    for extension in cluster.extensions:
        if extension.name == EXEC_EXTENSION:
            info["config"] = extension.extension
    return info
