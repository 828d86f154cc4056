"""Who the components of a lab are, and where their certificates and tokens lie."""

from pathlib import Path

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who a certificate speaks for: user name and groups in Kubernetes' terms; `server` for a serving one."""

    name: str
    """File name below `pki/`."""
    user: str
    groups: tuple[str, ...] = ()
    server: bool = False


class Authority(msgspec.Struct, frozen=True, kw_only=True):
    """A CA apart from the lab's own, for a program that manages its serving certificate itself and looks at both.

    `pki/<name>/` gets `ca.crt`, `ca.key`, `tls.crt` and `tls.key`.
    """

    name: str
    """Folder below `pki/`."""
    common_name: str
    """Of the CA; also a DNS name of it, by which such programs know it."""
    server_names: tuple[str, ...] = ()
    """DNS names of the serving certificate, beside the loopback address."""


class Pki(msgspec.Struct, frozen=True, kw_only=True):
    """Where the material lies."""

    folder: Path

    @property
    def ca(self) -> Path:
        """Certificate of the CA."""
        return self.folder / "ca.crt"

    @property
    def ca_key(self) -> Path:
        """Key of the CA; the controller-manager signs with it."""
        return self.folder / "ca.key"

    @property
    def service_account_key(self) -> Path:
        """Signs service account tokens."""
        return self.folder / "sa.key"

    @property
    def service_account_public_key(self) -> Path:
        """Verifies service account tokens."""
        return self.folder / "sa.pub"

    @property
    def tokens(self) -> Path:
        """The bearer tokens that the API server knows."""
        return self.folder / "tokens.csv"

    def cert(self, name: str) -> Path:
        """Certificate of an identity."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Key of an identity."""
        return self.folder / f"{name}.key"

    def authority(self, name: str) -> Path:
        """Folder of an authority's certificates and keys."""
        return self.folder / name
