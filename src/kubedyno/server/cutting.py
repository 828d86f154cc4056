"""The JSON of a record, cut into parts: the owners of its fields, its spec and its status, and what is around them."""

from typing import Final

import msgspec

from kubedyno.server import spelling
from kubedyno.server.templates import is_plain_key
from kubedyno.store.records import Record

SPEC_HEAD: Final = b',"spec":'
STATUS_HEAD: Final = b',"status":'
OWNERS_HEAD: Final = b'"managedFields":'
_OF_TWO_OWNERS: Final = rb"k:{\"uid\":"
_OWNERS: Final = "managedFields"


class _Metadata(msgspec.Struct, rename="camel"):
    managed_fields: msgspec.Raw = msgspec.Raw(b"")
    labels: msgspec.Raw = msgspec.Raw(b"")
    annotations: dict[str, str] = {}
    deletion_grace_period_seconds: int | None = None


class _Object(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    kind: str
    api_version: str
    metadata: _Metadata
    spec: msgspec.Raw
    status: msgspec.Raw


_decoder = msgspec.json.Decoder(_Object)


class Parts(msgspec.Struct, frozen=True):
    """A record's JSON, cut: `before`, the owners, `between`, the spec, the status, and a brace."""

    before: bytes
    owners: bytes
    between: bytes
    spec: bytes
    status: bytes
    labels: bytes
    """The labels, which stand in `before` or `between`."""
    marks: tuple[tuple[str, str], ...]
    """Annotations that may mean something."""

    def joined(self) -> bytes:
        """The JSON again."""
        return b"".join(
            (
                self.before,
                OWNERS_HEAD,
                self.owners,
                self.between,
                SPEC_HEAD,
                self.spec,
                STATUS_HEAD,
                self.status,
                b"}",
            )
        )


def cut(record: Record, head: bytes) -> Parts | None:
    """The parts of a record's JSON, if they stand in their usual order."""
    data = record.data
    if not data.startswith(head):
        return None
    try:
        found = _decoder.decode(data)
    except (ValueError, RecursionError):
        return None
    metadata = found.metadata
    owners, spec, status = map(bytes, (metadata.managed_fields, found.spec, found.status))
    if record.deleting and not metadata.deletion_grace_period_seconds:
        return None  # it may go with this write
    if not owners or owners.count(_OF_TWO_OWNERS) > 1:
        return None
    at = data.find(OWNERS_HEAD + b"[", len(head))
    end = len(data) - len(status) - len(spec) - len(STATUS_HEAD) - len(SPEC_HEAD) - 1
    marks = metadata.annotations
    parts = Parts(
        data[:at],
        owners,
        data[at + len(OWNERS_HEAD) + len(owners) : end],
        spec,
        status,
        bytes(metadata.labels),
        tuple(item for item in marks.items() if not is_plain_key(item[0])) if marks else (),
    )
    return parts if parts.joined() == data else None


def status_told(body: bytes, record: Record) -> tuple[bytes, bool] | None:
    """The status in a whole new state that equals the record in all else, and whether it tells the owners of fields.

    None: it differs, or is spelled in another way. Owners that it does not tell stay.
    """
    try:
        told, known = spelling.members(body), spelling.members(record.data)
        status = bytes(told.pop("status"))
        of_told, of_known = (spelling.members(bytes(one.pop("metadata"))) for one in (told, known))
        del known["status"]
    except (ValueError, RecursionError, KeyError):
        return None
    tells_owners = _OWNERS in of_told
    if not tells_owners:
        of_known.pop(_OWNERS, None)
    return (status, tells_owners) if (told, of_told) == (known, of_known) else None
