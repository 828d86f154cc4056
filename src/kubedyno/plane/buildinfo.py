"""What a Go binary says about itself, read without running it and without Go.

The linker embeds a block that starts with a magic, 16-byte aligned: the Go version and the module list as
text. Format of Go 1.18 and newer (`debug/buildinfo`): 14 bytes magic, pointer size, flags; flag 2 says that two
length-prefixed strings follow at byte 32. The module list is wrapped in 16 bytes of sentinels on each side.
"""

import mmap
from pathlib import Path

import msgspec

_MAGIC = b"\xff Go buildinf:"
_HEADER_BYTES = 32
_ALIGN_BYTES = 16
_FLAGS_AT = 15
_INLINE_STRINGS = 2
_SENTINEL_BYTES = 16


class BuildInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Go version, main package, modules (path to version, main module included) and build settings."""

    go_version: str
    package: str
    modules: dict[str, str]
    settings: dict[str, str]


def read_build_info(path: Path) -> BuildInfo | None:
    """The build info of the binary at `path`; None if there is none in a format we know."""
    if path.stat().st_size == 0:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(_MAGIC)
        while start >= 0:
            info = _parse_at(data, start) if start % _ALIGN_BYTES == 0 else None
            if info is not None:
                return info
            start = data.find(_MAGIC, start + 1)
    return None


def _parse_at(data: mmap.mmap, start: int) -> BuildInfo | None:
    if start + _HEADER_BYTES > len(data) or not data[start + _FLAGS_AT] & _INLINE_STRINGS:
        return None
    try:
        go_version, position = _string_at(data, start + _HEADER_BYTES)
        listing, _ = _string_at(data, position)
        return _parse_listing(go_version.decode(), listing[_SENTINEL_BYTES:-_SENTINEL_BYTES].decode())
    except (IndexError, UnicodeDecodeError):
        return None  # these bytes only look like a header: the magic also stands in code that reads it


def _string_at(data: mmap.mmap, position: int) -> tuple[bytes, int]:
    length, shift = 0, 0
    while True:
        byte = data[position]
        position += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that the varint goes on
            break
    if position + length > len(data):
        raise IndexError("string reaches past the end of the file")
    return data[position : position + length], position + length


def _parse_listing(go_version: str, listing: str) -> BuildInfo | None:
    package, modules, settings = "", {}, {}
    last = ""
    for line in listing.splitlines():
        kind, _, rest = line.partition("\t")
        fields = rest.split("\t")
        if kind == "path":
            package = rest
        elif kind in {"mod", "dep"} and len(fields) > 1:
            last = fields[0]
            modules[last] = fields[1]
        elif kind == "=>" and len(fields) > 1 and not fields[0].startswith((".", "/")):
            # A replacement stands below what it replaces; one by a folder has no version of its own.
            modules[last] = fields[1]
        elif kind == "build":
            key, _, value = rest.partition("=")
            settings[key] = value
    if not go_version.startswith("go") and not go_version.startswith("devel"):
        return None
    return BuildInfo(go_version=go_version, package=package, modules=modules, settings=settings)
