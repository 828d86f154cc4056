"""Rules of the group admissionregistration.k8s.io: the configurations of admission webhooks.

Policies, which are expressions for the most part, have no rules here.
"""

import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Final

from kubedyno.kinds.rules.domains import fully_qualified_name_problems
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.selectors import selector_problems
from kubedyno.kinds.rules.texts import dns1035_label, dns1123_subdomain, label_key, port_number
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_many

_GROUP: Final = "admissionregistration.k8s.io"
_LONGEST_TIMEOUT_S: Final = 30
_MOST_CONDITIONS: Final = 64
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_CHOICES: Final = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_URL_FORM: Final = "; desired format: https://host[/path]"


def _configuration(obj: Object) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        yield from _webhook(hook, path)
        yield from _review_versions(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name and name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _configuration_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _configuration(new)


def _webhook(hook: Object, path: str) -> Iterator[Problem]:
    yield from fully_qualified_name_problems(hook.get("name", ""), f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        yield from _rule(rule, f"{path}.rules[{index}]")
    for name in ("failurePolicy", "matchPolicy"):
        yield from _choice(hook, path, name)
    effects, timeout = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    elif effects not in _SIDE_EFFECTS:
        yield not_supported(f"{path}.sideEffects", effects, _SIDE_EFFECTS)
    if timeout is not None and not 1 <= timeout <= _LONGEST_TIMEOUT_S:
        yield invalid(f"{path}.timeoutSeconds", timeout, "the timeout value must be between 1 and 30 seconds")
    for name in ("namespaceSelector", "objectSelector"):
        yield from selector_problems(hook.get(name), f"{path}.{name}")
    yield from _choice(hook, path, "reinvocationPolicy")
    yield from _client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    yield from _match_conditions(hook.get("matchConditions") or (), f"{path}.matchConditions")


def _choice(hook: Object, path: str, name: str) -> Iterator[Problem]:
    if hook.get(name) is not None and hook[name] not in _CHOICES[name]:
        yield not_supported(f"{path}.{name}", hook[name], _CHOICES[name])


def _review_versions(versions: list[str], path: str) -> Iterator[Problem]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from formatted(version, f"{path}[{index}]", dns1035_label)
    if not set(versions) & set(_REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")


# --- what a webhook is asked about ----------------------------------------------------------------------------


def _rule(rule: Object, path: str) -> Iterator[Problem]:
    yield from _with_wildcard(rule.get("operations") or [], f"{path}.operations", "operations")
    for index, operation in enumerate(rule.get("operations") or ()):
        if operation not in _OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    yield from _with_wildcard(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    yield from _with_wildcard(versions, f"{path}.apiVersions", "API versions")
    for index, version in enumerate(versions):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _resources(rule.get("resources") or [], f"{path}.resources")
    if rule.get("scope") is not None and rule["scope"] not in {"*", "Cluster", "Namespaced"}:
        yield not_supported(f"{path}.scope", rule["scope"], ["*", "Cluster", "Namespaced"])


def _with_wildcard(items: list[str], path: str, what: str) -> Iterator[Problem]:
    if not items:
        yield required(path)
    elif len(items) > 1 and "*" in items:
        yield invalid(path, items, f"if '*' is present, must not specify other {what}")


def _resources(resources: list[str], path: str) -> Iterator[Problem]:
    if not resources:
        yield required(path)
    yield from _subresources(resources, path)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    # Of those without a part only the last one counts, as in the server.
    whole = [text for text in resources if text and "/" not in text]
    if "*" in whole and whole[-1] != "*":
        said = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, said)


def _subresources(resources: list[str], path: str) -> Iterator[Problem]:
    all_of_one: set[str] = set()
    one_of_all: set[str] = set()
    for index, text in enumerate(resources):
        resource, slash, part = text.partition("/")
        if not text:
            yield required(f"{path}[{index}]")
        if not slash:
            continue
        if resource in all_of_one:
            yield invalid(f"{path}[{index}]", text, f"if '{resource}/*' is present, must not specify {text}")
        if part in one_of_all:
            yield invalid(f"{path}[{index}]", text, f"if '*/{part}' is present, must not specify {text}")
        if part == "*":
            all_of_one.add(resource)
        if resource == "*":
            one_of_all.add(part)


def _match_conditions(conditions: Sequence[Object], path: str) -> Iterator[Problem]:
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        name = condition.get("name", "")
        if not condition.get("expression", "").strip():
            yield required(f"{path}[{index}].expression")
        if not name:
            yield required(f"{path}[{index}].name")
            continue
        yield from formatted(name, f"{path}[{index}].name", label_key)
        if name in seen:
            yield duplicate(f"{path}[{index}].name", name)
        seen.add(name)


# --- where a webhook is ---------------------------------------------------------------------------------------


def _client(client: Object, path: str) -> Iterator[Problem]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    else:
        yield from _service(service or {}, f"{path}.service")


def _url(url: str, path: str) -> Iterator[Problem]:
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}")
    if not host:
        yield invalid(path, "", f"host must be specified{_URL_FORM}")
    if at:
        yield invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(service: Object, path: str) -> Iterator[Problem]:
    # The server takes the one for the other when it tells which is missing.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    wrong = port_number(service.get("port", 0))
    if wrong:
        yield invalid(f"{path}.port", service.get("port", 0), f"port is not valid: {', '.join(wrong)}")
    text = service.get("path") or "/"
    if text == "/":
        return
    if text == "//":
        yield invalid(f"{path}.path", text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(f"{path}.path", text, "must start with a '/'")
    for index, segment in enumerate(text[1:].removesuffix("/").split("/")):
        wrong = dns1123_subdomain(segment) if segment else ()
        if not segment:
            yield invalid(f"{path}.path", text, f"segment[{index}] may not be empty")
        for told in wrong:
            yield invalid(f"{path}.path", text, f"segment[{index}]: {told}")


_RULES: Final = Rules(create=_configuration, update=_configuration_update)
RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "ValidatingWebhookConfiguration"): _RULES,
    (_GROUP, "MutatingWebhookConfiguration"): _RULES,
}
"""By group and kind."""
