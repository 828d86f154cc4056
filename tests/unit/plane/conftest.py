"""Small fakes: programs that are shell scripts, Go binaries that are a few bytes, and a `go` that does as told."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# `build` runs $FAKE_GO_BUILD first, then writes a program that answers like etcd; every call is logged.
FAKE_GO = r"""#!/bin/sh
echo "$@" >> "$FAKE_GO_CALLS"
case "$1" in
version) echo "go version go1.26.8 linux/amd64" ;;
mod) if [ -n "$FAKE_GO_NO_MODULE" ]; then echo "{\"Error\": \"$FAKE_GO_NO_MODULE\"}"; exit 1; fi
     echo "{\"Dir\": \"$FAKE_GO_MODULE\"}" ;;
build)
    eval "$FAKE_GO_BUILD"
    while [ "$1" != "-o" ]; do shift; done
    printf '#!/bin/sh\necho "etcd Version: 3.6.16"\n' > "$2"
    chmod 755 "$2" ;;
esac
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def go_binary() -> Callable[..., Path]:
    """A file with Go build info as the linker writes it; `noise` stands before it."""

    def varint(number: int) -> bytes:
        out = b""
        while number >= 0x80:
            out += bytes([number & 0x7F | 0x80])
            number >>= 7
        return out + bytes([number])

    def write(path: Path, listing: str, *, go: str = "go1.26.8", noise: bytes = b"\x7fELF") -> Path:
        wrapped = b"0" * 16 + listing.encode() + b"1" * 16
        data = noise + b"\0" * (-len(noise) % 16)
        data += (b"\xff Go buildinf:" + bytes([8, 2])).ljust(32, b"\0")
        data += varint(len(go)) + go.encode() + varint(len(wrapped)) + wrapped + b"\0" * 64
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def go_world(tmp_path: Path, script: Callable[[Path, str], Path]) -> Callable[..., Mapping[str, str]]:
    """An environment whose PATH begins with the fake `go`, and in which nothing is downloaded."""

    def make(**settings: str) -> Mapping[str, str]:
        script(tmp_path / "gobin" / "go", FAKE_GO)
        (tmp_path / "module").mkdir(exist_ok=True)
        return {
            "PATH": f"{tmp_path / 'gobin'}:/usr/bin:/bin",
            "HOME": os.environ.get("HOME", "/"),
            "FAKE_GO_CALLS": str(tmp_path / "go-calls"),
            "FAKE_GO_MODULE": str(tmp_path / "module"),
            "KUBEDYNO_RELEASES_URL": "off",
            **settings,
        }

    return make
