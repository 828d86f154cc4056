"""How a definition may say that objects are converted between its versions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kubedyno.kinds.rules import texts
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

_PATH = "spec.conversion"
_CLIENT = f"{_PATH}.webhookClientConfig"
_REVIEWS = f"{_PATH}.conversionReviewVersions"
_STRATEGIES = ("None", "Webhook")
_KNOWN_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"


def conversion_problems(conversion: Mapping[str, Any], *, preserves_unknown: bool) -> Iterator[Problem]:
    """What is wrong with `spec.conversion`. Whether the certificates of a webhook can be read is not looked at."""
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "None" and preserves_unknown:
        yield invalid(f"{_PATH}.strategy", strategy, "must be None if spec.preserveUnknownFields is true")
    if not strategy:
        yield required(f"{_PATH}.strategy")
    elif strategy not in _STRATEGIES:
        yield not_supported(f"{_PATH}.strategy", strategy, _STRATEGIES)
    if strategy == "Webhook":
        yield from _client_problems(client)
        yield from _review_problems(reviews)
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden(_CLIENT, detail)
    if reviews:
        yield forbidden(_REVIEWS, detail)


def _client_problems(client: Mapping[str, Any] | None) -> Iterator[Problem]:
    if client is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(_CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_problems(url, f"{_CLIENT}.url")
    else:
        yield from _service_problems(service or {}, f"{_CLIENT}.service")


def _url_problems(url: str, path: str) -> Iterator[Problem]:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if user:
        yield invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service_problems(service: Mapping[str, Any], path: str) -> Iterator[Problem]:
    # Name and namespace are handed over in each other's place in Kubernetes, so the other one is missed.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    port = service.get("port", 443)
    if told := texts.port_number(port):
        yield invalid(f"{path}.port", port, f"port is not valid: {', '.join(told)}")
    yield from _segment_problems(service.get("path") or "/", f"{path}.path")


def _segment_problems(url_path: str, path: str) -> Iterator[Problem]:
    if url_path == "/":
        return
    if url_path == "//":
        yield invalid(path, url_path, "segment[0] may not be empty")
        return
    if not url_path.startswith("/"):
        yield invalid(path, url_path, "must start with a '/'")
    for index, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(path, url_path, f"segment[{index}] may not be empty")
            continue
        for told in texts.dns1123_subdomain(segment):
            yield invalid(path, url_path, f"segment[{index}]: {told}")


def _review_problems(versions: Sequence[str]) -> Iterator[Problem]:
    if not versions:
        yield required(_REVIEWS)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{_REVIEWS}[{index}]", version, "duplicate version")
            continue
        for told in texts.dns1035_label(version):
            yield invalid(f"{_REVIEWS}[{index}]", version, told)
    if not set(versions) & set(_KNOWN_REVIEWS):
        yield invalid(_REVIEWS, list(versions), f"must include at least one of {', '.join(_KNOWN_REVIEWS)}")
