"""Text that XML can hold."""

import re
from typing import Final

# Messages quote logs, which may hold what XML cannot, not even escaped: the colours of a terminal, for one.
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def for_xml(text: str) -> str:
    """The text with a mark in place of each character that no XML may have."""
    return _NOT_IN_XML.sub("\ufffd", text)
