"""Defaults of role bindings."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

_GROUP = "rbac.authorization.k8s.io"

CONSTANTS: Constants = {"rbac.v1.RoleRef": {"apiGroup": _GROUP}}


def _subject(subject: Object) -> None:
    if subject["kind"] in {"User", "Group"}:
        subject.setdefault("apiGroup", _GROUP)


FUNCTIONS: Functions = {"rbac.v1.Subject": _subject}
