"""Credentials in use: tokens that are read again, plugins that are run again, and the TLS context for them."""

import asyncio
import json
import os
import ssl
import tempfile
from pathlib import Path
from typing import Protocol

import msgspec

from kubedyno.client.access import Access, ExecPlugin, StaticToken, TokenFile, TokenSource
from kubedyno.client.errors import shortened
from kubedyno.kit.clock import NS_PER_S, Clock, parse_rfc3339_ns
from kubedyno.kit.errors import EngineError, UsageError

TOKEN_FILE_PERIOD_NS = 60 * NS_PER_S
"""A token file is read again after a minute, as client-go does."""

PLUGIN_TIMEOUT_S = 60.0


class Credential(msgspec.Struct, frozen=True):
    """What to present at the moment: a token, a certificate with its key, or nothing."""

    token: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None

    def __repr__(self) -> str:
        return f"Credential(token={self.token is not None}, certificate={self.certificate is not None})"


class CredentialSource(Protocol):
    """Where credentials come from while a client lives."""

    def is_due(self) -> bool:
        """Whether the credential must be fetched (again) before the next request."""
        ...

    async def fetch(self) -> Credential:
        """The credential of now."""
        ...

    def expire(self) -> bool:
        """The server said 401: drop what is cached. False when fetching again cannot help."""
        ...


class FixedSource:
    """A credential that never changes."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def is_due(self) -> bool:
        """Never."""
        return False

    async def fetch(self) -> Credential:
        """The one there is."""
        return self._credential

    def expire(self) -> bool:
        """It cannot be renewed."""
        return False


class FileSource:
    """A token in a file that somebody renews."""

    def __init__(self, path: Path, base: Credential, clock: Clock) -> None:
        self._path = path
        self._base = base
        self._clock = clock
        self._read_ns: int | None = None

    def is_due(self) -> bool:
        """After a minute."""
        return self._read_ns is None or self._clock.monotonic_ns() - self._read_ns >= TOKEN_FILE_PERIOD_NS

    async def fetch(self) -> Credential:
        """Read the file: a few hundred bytes, not worth a thread."""
        try:
            token = self._path.read_text().strip()
        except OSError as error:
            raise UsageError(f"the token file {self._path} cannot be read: {error.strerror}") from error
        if not token:
            raise UsageError(f"the token file {self._path} is empty")
        self._read_ns = self._clock.monotonic_ns()
        return msgspec.structs.replace(self._base, token=token)

    def expire(self) -> bool:
        """Read it again: it may have been renewed within the minute."""
        self._read_ns = None
        return True


class _PluginStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _PluginAnswer(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _PluginStatus | None = None


class PluginSource:
    """An exec plugin: run when its credential is missing, expired, or was refused."""

    def __init__(self, plugin: ExecPlugin, base: Credential, clock: Clock) -> None:
        self._plugin = plugin
        self._base = base
        self._clock = clock
        self._fetched = False
        self._expires_ns: int | None = None

    def is_due(self) -> bool:
        """Before the first request and after the expiration that the plugin named."""
        if not self._fetched:
            return True
        return self._expires_ns is not None and self._clock.wall_ns() >= self._expires_ns

    def expire(self) -> bool:
        """Run it again."""
        self._fetched = False
        return True

    async def fetch(self) -> Credential:
        """Run the plugin and read its ExecCredential."""
        status = self._parse(await self._run())
        self._expires_ns = self._expiration_ns(status.expiration_timestamp)
        self._fetched = True
        return Credential(
            token=status.token or self._base.token,
            certificate=status.client_certificate_data.encode() or self._base.certificate,
            key=status.client_key_data.encode() or self._base.key,
        )

    async def _run(self) -> bytes:
        plugin = self._plugin
        hint = f"; {plugin.install_hint.strip()}" if plugin.install_hint.strip() else ""
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                env={**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": self._exec_info()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise UsageError(f"{plugin.origin}: the exec plugin {plugin.command!r} is not installed{hint}") from error
        except OSError as error:
            raise UsageError(
                f"{plugin.origin}: the exec plugin {plugin.command!r} cannot be run: {error.strerror}{hint}"
            ) from error
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_S):
                out, err = await process.communicate()
        except TimeoutError as error:
            raise EngineError(
                f"{plugin.origin}: the exec plugin {plugin.command!r} gave no answer in {PLUGIN_TIMEOUT_S:.0f} s"
            ) from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = shortened(err.decode("utf-8", "replace")) or "nothing on standard error"
            raise EngineError(
                f"{plugin.origin}: the exec plugin {plugin.command!r} exited with {process.returncode}: {said}"
            )
        return out

    def _exec_info(self) -> str:
        spec: dict[str, object] = {"interactive": False}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        return json.dumps({"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec})

    def _parse(self, out: bytes) -> _PluginStatus:
        who = f"{self._plugin.origin}: the exec plugin {self._plugin.command!r}"
        try:
            answer = msgspec.json.decode(out, type=_PluginAnswer)
        except msgspec.DecodeError as error:
            raise EngineError(f"{who} printed no ExecCredential: {error}") from error
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise EngineError(
                f"{who} printed {answer.kind or 'no kind'} of {answer.api_version or 'no version'}, "
                f"not ExecCredential of {self._plugin.api_version}"
            )
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data):
            raise EngineError(f"{who} printed neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise EngineError(f"{who} printed a certificate without its key, or a key alone")
        return status

    def _expiration_ns(self, stamp: str) -> int | None:
        if not stamp:
            return None
        try:
            return parse_rfc3339_ns(stamp)
        except ValueError as error:
            raise EngineError(
                f"{self._plugin.origin}: the exec plugin {self._plugin.command!r} printed "
                f"the expirationTimestamp {stamp!r}, which is no RFC 3339 time"
            ) from error


def source_of(access: Access, clock: Clock) -> CredentialSource:
    """The source that fits an access."""
    base = Credential(certificate=access.client_certificate, key=access.client_key)
    return _token_source(access.token_source, base, clock)


def _token_source(source: TokenSource | None, base: Credential, clock: Clock) -> CredentialSource:
    match source:
        case None:
            return FixedSource(base)
        case StaticToken(token):
            return FixedSource(msgspec.structs.replace(base, token=token))
        case TokenFile(path):
            return FileSource(path, base, clock)
        case ExecPlugin():
            return PluginSource(source, base, clock)


def tls_context(access: Access, credential: Credential) -> ssl.SSLContext | None:
    """The TLS side of an access with a credential; None for a plain http server."""
    if not access.server.startswith("https:"):
        return None
    context = _verifying(access)
    if credential.certificate is not None and credential.key is not None:
        _load_certificate(context, credential.certificate, credential.key, access.origin)
    return context


def _verifying(access: Access) -> ssl.SSLContext:
    """Who is believed to be the server: an own authority replaces the system's, as in client-go."""
    if access.ca_data is None and not access.insecure:
        context = ssl.create_default_context()
        # Python 3.13 turned this on; Kubernetes' own authorities often lack the key identifiers that it demands.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        context.load_verify_locations(cadata=(access.ca_data or b"").decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{access.origin}: the certificate authority is no PEM certificate: {error}") from error
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes, origin: str) -> None:
    """Load a pair from memory; OpenSSL's binding reads files only, so there is one for a moment, for us alone."""
    # mkstemp creates it with mode 0600.
    descriptor, name = tempfile.mkstemp(prefix="kubedyno-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(name, password=lambda: b"")
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"{origin}: the client certificate and key do not fit or are no PEM data: {error}") from error
    finally:
        Path(name).unlink()
