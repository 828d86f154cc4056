"""JSON text that is spelled as the server itself spells it: without spaces, and with no name twice."""

from typing import Final

import msgspec

from kubedyno.kube import codec

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_texts: Final = msgspec.json.Decoder(dict[str, str])


def members(text: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object, unread; `ValueError` where it is spelled in another way."""
    found = _members.decode(text)
    if len(text) != max(2, 1 + sum(len(name) + len(value) + 4 for name, value in found.items())):
        raise ValueError("it is spelled in another way")
    return found


def texts(text: bytes | None) -> dict[str, str]:
    """Texts by name; `ValueError` where they are spelled in another way. None is an object without any."""
    if text is None:
        return {}
    found = _texts.decode(text)
    if codec.encode(found) != text:
        raise ValueError("they are spelled in another way")
    return found
