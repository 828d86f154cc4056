import ipaddress
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import Criticality, ExtensionPolicy, PolicyBuilder, Store, VerificationError

from kubedyno.kit.clock import NS_PER_S, VirtualClock
from kubedyno.plane import pki
from kubedyno.plane.identities import Authority, Identity, Pki

pytestmark = pytest.mark.unit

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
SERVER = Identity(name="server", user="kube-apiserver", server=True)
ADMIN = Identity(name="admin", user="kubedyno-admin", groups=("system:masters", "more"))


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    folder = tmp_path_factory.mktemp("pki") / "deep" / "pki"
    return pki.create(folder, (SERVER, ADMIN), clock=VirtualClock(round(NOW.timestamp()) * NS_PER_S))


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def policy(material: Pki, moment: datetime, *, server: bool) -> PolicyBuilder:
    named = ExtensionPolicy.permit_all().require_present(x509.SubjectAlternativeName, Criticality.AGNOSTIC, None)
    # The web's profile asks for names of clients too; Kubernetes' clients have none.
    return (
        PolicyBuilder()
        .store(Store([certificate(material.ca)]))
        .time(moment)
        .extension_policies(
            ca_policy=ExtensionPolicy.webpki_defaults_ca(), ee_policy=named if server else ExtensionPolicy.permit_all()
        )
    )


@pytest.mark.parametrize("moment", [NOW - timedelta(minutes=59), NOW, NOW + timedelta(days=364)])
def test_the_serving_certificate_verifies_against_the_ca(material: Pki, moment: datetime) -> None:
    verifier = policy(material, moment, server=True).build_server_verifier(x509.DNSName("localhost"))
    chain = verifier.verify(certificate(material.cert("server")), [])
    assert chain[-1] == certificate(material.ca)


@pytest.mark.parametrize("moment", [NOW - timedelta(minutes=61), NOW + timedelta(days=366)])
def test_outside_of_its_time_it_does_not(material: Pki, moment: datetime) -> None:
    verifier = policy(material, moment, server=True).build_server_verifier(x509.DNSName("localhost"))
    with pytest.raises(VerificationError):
        verifier.verify(certificate(material.cert("server")), [])


def test_client_certificates_verify_against_the_ca(material: Pki) -> None:
    verifier = policy(material, NOW, server=False).build_client_verifier()
    for name in ("admin", "server"):
        assert verifier.verify(certificate(material.cert(name)), []).chain[-1] == certificate(material.ca)


def test_a_certificate_of_another_lab_does_not(material: Pki, tmp_path: Path) -> None:
    other = pki.create(tmp_path / "other", (ADMIN,), clock=VirtualClock(round(NOW.timestamp()) * NS_PER_S))
    with pytest.raises(VerificationError):
        policy(material, NOW, server=False).build_client_verifier().verify(certificate(other.cert("admin")), [])


def test_a_tls_handshake_with_both_certificates_succeeds(tmp_path: Path) -> None:
    clock = VirtualClock(round(datetime.now(UTC).timestamp()) * NS_PER_S)  # noqa: TID251 - ssl looks at the real time
    material = pki.create(tmp_path / "pki", (SERVER, ADMIN), clock=clock)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(material.ca))
    serving.verify_mode = ssl.CERT_REQUIRED
    serving.load_cert_chain(material.cert("server"), material.key("server"))
    calling = ssl.create_default_context(cafile=str(material.ca))
    calling.load_cert_chain(material.cert("admin"), material.key("admin"))
    for name in ("127.0.0.1", "localhost", "kubernetes.default.svc"):
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = serving.wrap_bio(to_server, to_client, server_side=True)
        client = calling.wrap_bio(to_client, to_server, server_hostname=name)
        for _ in range(4):
            for end in (client, server):
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        peer = server.getpeercert()
        assert peer is not None
        assert (("organizationName", "system:masters"),) in peer["subject"]
        assert (("commonName", "kubedyno-admin"),) in peer["subject"]


def test_users_are_common_names_and_groups_are_organisations(material: Pki) -> None:
    subject = certificate(material.cert("admin")).subject
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["kubedyno-admin"]
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters", "more"]
    assert not certificate(material.cert("server")).subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)


def test_a_server_is_known_by_its_names_and_addresses(material: Pki) -> None:
    names = certificate(material.cert("server")).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address(address) for address in ("127.0.0.1", "::1", "10.96.0.1")
    ]
    with pytest.raises(x509.ExtensionNotFound):
        certificate(material.cert("admin")).extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_only_servers_may_serve_and_only_the_ca_may_sign(material: Pki) -> None:
    usages = {
        name: list(certificate(material.cert(name)).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        for name in ("server", "admin")
    }
    assert usages == {
        "server": [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH],
        "admin": [ExtendedKeyUsageOID.CLIENT_AUTH],
    }
    for path, signs in ((material.ca, True), (material.cert("server"), False), (material.cert("admin"), False)):
        extensions = certificate(path).extensions
        assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is signs
        assert extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign is signs


def test_keys_belong_to_their_certificates_and_to_the_owner_alone(material: Pki) -> None:
    assert stat.S_IMODE(material.folder.stat().st_mode) == 0o700
    keys = (material.ca_key, material.key("server"), material.key("admin"), material.service_account_key)
    assert sorted(material.folder.glob("*.key")) == sorted(keys)
    for path in keys:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for key, cert in ((material.ca_key, material.ca), (material.key("admin"), material.cert("admin"))):
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        assert private.public_key() == certificate(cert).public_key()


def test_service_account_keys_are_a_pair(material: Pki) -> None:
    private = serialization.load_pem_private_key(material.service_account_key.read_bytes(), None)
    public = serialization.load_pem_public_key(material.service_account_public_key.read_bytes())
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.public_key() == public


def test_a_folder_that_is_there_is_not_written_over(material: Pki) -> None:
    with pytest.raises(FileExistsError):
        pki.create(material.folder, (), clock=VirtualClock())


def test_an_authority_has_a_ca_of_its_own_name_and_a_serving_certificate(tmp_path: Path) -> None:
    authority = Authority(name="theirs", common_name="their-ca", server_names=("hooks.theirs.svc",))
    clock = VirtualClock(round(NOW.timestamp()) * NS_PER_S)
    made = pki.create(tmp_path / "pki", (ADMIN,), clock=clock, authorities=(authority,)).authority("theirs")
    assert sorted(path.name for path in made.iterdir()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert {stat.S_IMODE((made / name).stat().st_mode) for name in ("ca.key", "tls.key")} == {0o600}
    ca = certificate(made / "ca.crt")
    names = ca.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["their-ca"]
    verifier = PolicyBuilder().store(Store([ca])).time(NOW).build_server_verifier(x509.DNSName("hooks.theirs.svc"))
    served = certificate(made / "tls.crt")
    verifier.verify(served, [])
    addresses = served.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert ipaddress.ip_address("127.0.0.1") in addresses.get_values_for_type(x509.IPAddress)
    assert (made / "ca.key").read_text().startswith("-----BEGIN RSA PRIVATE KEY-----")
    key = serialization.load_pem_private_key((made / "ca.key").read_bytes(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.public_key() == ca.public_key()
