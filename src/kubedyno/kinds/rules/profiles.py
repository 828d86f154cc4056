"""Rules of seccomp and AppArmor profiles, in fields and in the annotations that came before them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules.internals import internal, invalid_printed
from kubedyno.kinds.rules.paths import descending_problems
from kubedyno.kinds.rules.texts import byte_length
from kubedyno.kinds.rules.visiting import containers_with_paths
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required, too_long

_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_APP_ARMOR_LIMIT: Final = 4095
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR_CONTAINER: Final = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST: Final = "localhost/"
_SECCOMP_NAMES: Final = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
_APP_ARMOR_NAMES: Final = {"Unconfined": ("unconfined",), "RuntimeDefault": ("runtime/default",)}

Annotations = Mapping[str, str]
Profile = Mapping[str, Any]


def seccomp_problems(profile: Profile | None, path: str) -> Iterator[Problem]:
    """A seccomp profile in a security context."""
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    if kind != "Localhost":
        if local is not None:
            detail = "can only be set when seccomp type is Localhost"
            yield invalid_printed(f"{path}.localhostProfile", internal("SeccompProfile", profile), detail)
    elif local is None:
        yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
    else:
        yield from descending_problems(local, f"{path}.localhostProfile")


def app_armor_problems(profile: Profile | None, path: str) -> Iterator[Problem]:
    """An AppArmor profile in a security context."""
    if profile is None:
        return
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    elif kind != "Localhost":
        if local is not None:
            yield invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif local is None:
        yield required(at, "must be set when AppArmor type is Localhost")
    else:
        if local != local.strip():
            yield invalid(at, local, "must not be padded with whitespace")
        elif not local:
            yield required(at, "must be set when AppArmor type is Localhost")
        if byte_length(local) > _APP_ARMOR_LIMIT:
            yield too_long(at, _APP_ARMOR_LIMIT)


def seccomp_annotation_problems(annotations: Annotations, path: str) -> Iterator[Problem]:
    """Seccomp profiles that annotations name."""
    keys = [key for key in annotations if key.startswith(_SECCOMP_CONTAINER)]
    for key in (_SECCOMP_POD, *keys) if _SECCOMP_POD in annotations else keys:
        profile = annotations[key]
        if profile.startswith(_LOCALHOST):
            yield from descending_problems(profile.removeprefix(_LOCALHOST), f"{path}.{key}")
        elif not any(profile in known for known in _SECCOMP_NAMES.values()):
            yield invalid(f"{path}.{key}", profile, "must be a valid seccomp profile")


def app_armor_annotation_problems(annotations: Annotations, spec: Object, path: str) -> Iterator[Problem]:
    """AppArmor profiles that annotations name."""
    for key, profile in annotations.items():
        if not key.startswith(APP_ARMOR_CONTAINER):
            continue
        name = key.removeprefix(APP_ARMOR_CONTAINER)
        if all(container.get("name") != name for container, _ in containers_with_paths(spec, "")):
            yield invalid(f"{path}[{key}]", name, "container not found")
        if profile not in {"", "runtime/default", "unconfined"} and not profile.startswith(_LOCALHOST):
            yield invalid(f"{path}[{key}]", profile, f'invalid AppArmor profile name: "{profile}"')


def seccomp_match_problems(annotations: Annotations, spec: Object, path: str) -> Iterator[Problem]:
    """Where annotation and field both name a seccomp profile, they must agree."""
    profile = (spec.get("securityContext") or {}).get("seccompProfile")
    if profile is not None and _SECCOMP_POD in annotations:
        at = f"{path}.securityContext.seccompProfile"
        yield from _match_problems(annotations[_SECCOMP_POD], profile, at, "seccomp", _SECCOMP_NAMES)
    for container, at in containers_with_paths(spec, path):
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        annotation = annotations.get(f"{_SECCOMP_CONTAINER}{container.get('name', '')}")
        if profile is not None and annotation is not None:
            at = f"{at}.securityContext.seccompProfile"  # noqa: PLW2901, the path of what is looked at now
            yield from _match_problems(annotation, profile, at, "seccomp", _SECCOMP_NAMES)


def app_armor_match_problems(annotations: Annotations, spec: Object, path: str) -> Iterator[Problem]:
    """Where annotation and field both name an AppArmor profile, they must agree."""
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, at in containers_with_paths(spec, path):
        profile = (container.get("securityContext") or {}).get("appArmorProfile", of_pod)
        annotation = annotations.get(f"{APP_ARMOR_CONTAINER}{container.get('name', '')}")
        if profile is not None and annotation is not None:
            at = f"{at}.securityContext.appArmorProfile"  # noqa: PLW2901, the path of what is looked at now
            yield from _match_problems(annotation, profile, at, "apparmor", _APP_ARMOR_NAMES)


def _match_problems(
    annotation: str, profile: Profile, path: str, what: str, names: Mapping[str, tuple[str, ...]]
) -> Iterator[Problem]:
    kind = profile.get("type", "")
    if kind == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            yield forbidden(f"{path}.type", f"{what} type in annotation and field must match")
        elif annotation.removeprefix(_LOCALHOST) != profile.get("localhostProfile"):
            yield forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")
    elif kind in names and annotation not in names[kind]:
        yield forbidden(f"{path}.type", f"{what} type in annotation and field must match")
