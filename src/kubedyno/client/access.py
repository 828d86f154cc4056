"""How to reach an API server and who to be there: plain data, found by `kubeconfig`, used by `credentials`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError

SERVICE_ACCOUNT_DIR = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class StaticToken(msgspec.Struct, frozen=True):
    """A bearer token that never changes."""

    token: str

    def __repr__(self) -> str:
        return "StaticToken(...)"


class TokenFile(msgspec.Struct, frozen=True):
    """A bearer token that somebody renews in a file (a projected service account token)."""

    path: Path


class ExecPlugin(msgspec.Struct, frozen=True):
    """A program that prints an ExecCredential.

    `cluster` is what it learns of the cluster in KUBERNETES_EXEC_INFO; None unless it asked for that.
    `origin` names the kubeconfig entry, for messages.
    """

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    api_version: str
    install_hint: str
    cluster: Mapping[str, Any] | None
    origin: str


TokenSource = StaticToken | TokenFile | ExecPlugin


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A server and an identity. PEM data is held in memory: the files it came from may be gone.

    Without `ca_data` the system's authorities are trusted; `insecure` trusts everybody.
    """

    server: str
    ca_data: bytes | None = None
    insecure: bool = False
    tls_server_name: str | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = None
    token_source: TokenSource | None = None
    namespace: str = "default"
    origin: str = "the program"

    def __repr__(self) -> str:
        # Keys and tokens stay out of logs and tracebacks.
        return f"Access(server={self.server!r}, origin={self.origin!r})"


def in_cluster(env: Mapping[str, str], *, directory: Path = SERVICE_ACCOUNT_DIR) -> Access:
    """Access of a pod by its service account; the token is read again while it is used, because it expires."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise UsageError("this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    token, authority = directory / "token", directory / "ca.crt"
    try:
        token.read_bytes()
        ca_data = authority.read_bytes()
        namespace_file = directory / "namespace"
        namespace = namespace_file.read_text().strip() if namespace_file.exists() else ""
    except OSError as error:
        raise UsageError(
            f"the service account of this pod cannot be read: {error.filename}: {error.strerror}; "
            "is automountServiceAccountToken off?"
        ) from error
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca_data=ca_data,
        token_source=TokenFile(token),
        namespace=namespace or "default",
        origin=f"the service account in {directory}",
    )
