"""Texts behind a domain, like the names of controllers."""

import re
from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.texts import dns1123_subdomain, regex_text
from kubedyno.kube.problems import Problem, invalid, required

_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_LEAST_SEGMENTS: Final = 3


def domain_prefixed_path_problems(text: str, path: str) -> Iterator[Problem]:
    """A path behind a domain, like `acme.io/foo`."""
    domain, _, rest = text.partition("/")
    if not text:
        yield required(path)
    elif not domain or not rest:
        yield invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from formatted(domain, path, dns1123_subdomain)
        if not re.fullmatch(_HTTP_PATH, rest):
            yield invalid(path, rest, regex_text("Invalid path", _HTTP_PATH))


def fully_qualified_name_problems(name: str, path: str) -> Iterator[Problem]:
    """A domain of three parts or more."""
    if not name:
        yield required(path)
    elif wrong := dns1123_subdomain(name):
        yield invalid(path, name, ",".join(wrong))
    elif name.count(".") + 1 < _LEAST_SEGMENTS:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")
