"""Formats of names and the like, in the words of apimachinery."""

import pytest

from kubedyno.kinds.rules import addresses, names, texts
from kubedyno.kube.resources import by_kind

pytestmark = pytest.mark.unit

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize(
    ("check", "text", "wrong"),
    [
        (texts.dns1123_label, "a-1", ()),
        (texts.dns1123_label, "A", (LABEL,)),
        (texts.dns1123_label, "a\n", (LABEL,)),
        (texts.dns1123_label, "a.b", ("must not contain dots",)),
        (texts.dns1123_label, "a" * 64, ("must be no more than 63 characters",)),
        (texts.dns1123_subdomain, "a.b-c", ()),
        (texts.dns1123_subdomain, "a..b", (SUBDOMAIN,)),
        (texts.label_value, "", ()),
        (texts.label_value, "a" * 64, ("must be no more than 63 bytes",)),
        (texts.label_key, "example.com/a", ()),
        (texts.label_key, "/a", ("prefix part must be non-empty",)),
        (texts.label_key, "A/a", (f"prefix part {SUBDOMAIN}",)),
        (texts.config_key, "..", ("must not be '..'",)),
        (texts.config_key, "..a", ("must not start with '..'",)),
        (texts.env_var_name, "a b", ()),
        (texts.port_name, "web", ()),
        (texts.port_name, "1--", ("must contain at least one letter (a-z)", "must not contain consecutive hyphens",
                                  "must not begin or end with a hyphen")),
        (texts.path_segment, "system:node", ()),
        (texts.path_segment, "..", ("may not be '..'",)),
        (texts.path_segment, "a/%", ("may not contain '/'", "may not contain '%'")),
        (addresses.ip_complaints, "010.0.0.1", ("must not have leading 0s",)),
        (addresses.ip_complaints, "::ffff:1.2.3.4", ("must not be an IPv4-mapped IPv6 address",)),
        (addresses.ip_complaints, "FE80::1", ()),
        (addresses.canonical_ip, "FE80::1", ('must be in canonical form ("fe80::1")',)),
    ],
)  # fmt: skip
def test_a_text_is_told_what_is_wrong_with_it(check: texts.Format, text: str, wrong: tuple[str, ...]) -> None:
    assert check(text) == wrong


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("10.0.0.0/24", None),
        ("2001:db8::/64", None),
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/024", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.1/24", "must not have bits set beyond the prefix length"),
    ],
)
def test_a_cidr_is_told_what_is_wrong_with_it(text: str, detail: str | None) -> None:
    found = [problem.message for problem in addresses.cidr_problems("x", text)]
    assert found == ([] if detail is None else [f'Invalid value: "{text}": {detail}'])


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "right"),
    [
        ("v1", "Pod", "a.b", True),
        ("v1", "Namespace", "a.b", False),
        ("v1", "Service", "1a", True),
        ("apps/v1", "StatefulSet", "a.b", False),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "system:A", True),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "a/b", False),
    ],
)
def test_each_kind_has_its_own_names(api_version: str, kind: str, name: str, right: bool) -> None:
    assert (not list(names.name_problems(by_kind(api_version, kind), name))) == right


@pytest.mark.parametrize(("prefix", "right"), [("a-", True), ("a", True), ("A-", True), ("Ab-", False)])
def test_the_beginning_of_a_name_may_end_in_a_dash(prefix: str, right: bool) -> None:
    assert (not list(names.prefix_problems(by_kind("v1", "Pod"), prefix))) == right
