"""Certificates of one lab: its own CA, a certificate per identity, service account keys; keys are 0600.

ECDSA P-256: a dozen keys in milliseconds, where RSA would cost more than starting etcd. Only the CAs of programs that
manage their own serving certificates are RSA, for those read nothing else.
"""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.durable import write_atomic
from kubedyno.plane.identities import Authority, Identity, Pki

_VALID_FOR = timedelta(days=365)
_RSA_BITS = 2048
_RSA_EXPONENT = 65537
_SKEW = timedelta(hours=1)  # a certificate is valid a little before it was made, for clocks that step back
_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
_SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")  # the last is the `kubernetes` service's cluster IP

_Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def create(
    folder: Path, identities: tuple[Identity, ...], *, clock: Clock, authorities: tuple[Authority, ...] = ()
) -> Pki:
    """Make a CA, service account keys and a certificate for each identity, below `folder` (0700); then authorities."""
    folder.mkdir(parents=True, mode=0o700)
    pki = Pki(folder=folder)
    now = datetime.fromtimestamp(clock.wall_ns() // NS_PER_S, tz=UTC)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _self_signed("kubedyno lab CA", ca_key, now).sign(ca_key, hashes.SHA256())
    _write_pair(pki.ca, ca, pki.ca_key, ca_key)
    for identity in identities:
        key = ec.generate_private_key(ec.SECP256R1())
        _write_pair(pki.cert(identity.name), _issue(identity, key, ca, ca_key, now), pki.key(identity.name), key)
    service_account_key = ec.generate_private_key(ec.SECP256R1())
    write_atomic(pki.service_account_key, _private_pem(service_account_key), mode=0o600)
    write_atomic(
        pki.service_account_public_key,
        service_account_key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )
    for authority in authorities:
        _create_authority(pki.authority(authority.name), authority, now)
    return pki


def _create_authority(folder: Path, authority: Authority, now: datetime) -> None:
    folder.mkdir(mode=0o700)
    ca_key = rsa.generate_private_key(public_exponent=_RSA_EXPONENT, key_size=_RSA_BITS)
    ca = (
        _self_signed(authority.common_name, ca_key, now)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(authority.common_name)]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    _write_pair(folder / "ca.crt", ca, folder / "ca.key", ca_key)
    key = ec.generate_private_key(ec.SECP256R1())
    user = authority.server_names[0] if authority.server_names else authority.name
    server = Identity(name=authority.name, user=user, server=True)
    cert = _issue(server, key, ca, ca_key, now, server_names=(*authority.server_names, "localhost"))
    _write_pair(folder / "tls.crt", cert, folder / "tls.key", key)


def _self_signed(common_name: str, key: _Key, now: datetime) -> x509.CertificateBuilder:
    """A CA's certificate, to be signed with its own key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
    )


def _issue(
    identity: Identity,
    key: ec.EllipticCurvePrivateKey,
    ca: x509.Certificate,
    ca_key: _Key,
    now: datetime,
    *,
    server_names: tuple[str, ...] = _SERVER_NAMES,
) -> x509.Certificate:
    """A certificate for `identity`; serving ones are client certificates too (an etcd member dials its peers)."""
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, identity.user))
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if identity.server:
        usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )
    if identity.server:
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in server_names]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in _SERVER_ADDRESSES]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(ca_key, hashes.SHA256())


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write_pair(cert_path: Path, cert: x509.Certificate, key_path: Path, key: _Key) -> None:
    write_atomic(key_path, _private_pem(key), mode=0o600)
    write_atomic(cert_path, cert.public_bytes(serialization.Encoding.PEM))


def _private_pem(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
