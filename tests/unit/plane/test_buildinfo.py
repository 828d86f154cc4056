from collections.abc import Callable
from pathlib import Path

import pytest

from kubedyno.plane.buildinfo import read_build_info

pytestmark = pytest.mark.unit

LISTING = (
    "path\texample.org/tool/cmd/tool\n"
    "mod\texample.org/programs\t(devel)\t\n"
    "dep\texample.org/tool\tv1.2.3\th1:abc=\n"
    "dep\texample.org/other\tv0.1.0\n"
    "=>\texample.org/fork\tv0.9.0\th1:def=\n"
    "dep\texample.org/edited\tv2.0.0\n"
    "=>\t./module\t(devel)\t\n"
    'build\t-ldflags="-X a=b"\n'
    "build\tGOARCH=amd64\n"
)


def test_it_reads_package_modules_and_settings(tmp_path: Path, go_binary: Callable[..., Path]) -> None:
    info = read_build_info(go_binary(tmp_path / "tool", LISTING))
    assert info is not None
    assert info.go_version == "go1.26.8"
    assert info.package == "example.org/tool/cmd/tool"
    assert info.modules["example.org/tool"] == "v1.2.3"
    assert info.modules["example.org/other"] == "v0.9.0"
    assert info.modules["example.org/edited"] == "v2.0.0"
    assert info.settings == {"-ldflags": '"-X a=b"', "GOARCH": "amd64"}


def test_a_long_listing_has_a_length_of_several_bytes(tmp_path: Path, go_binary: Callable[..., Path]) -> None:
    long = LISTING + "".join(f"dep\texample.org/m{number}\tv0.0.{number}\n" for number in range(2000))
    info = read_build_info(go_binary(tmp_path / "tool", long))
    assert info is not None
    assert info.modules["example.org/m1999"] == "v0.0.1999"


@pytest.mark.parametrize(
    "noise",
    [
        b"\0" * 5 + b"\xff Go buildinf:",  # not aligned
        b"\xff Go buildinf:" + b"\x08\x00" + b"\0" * 48,  # the pointer format of old Go
        b"\xff Go buildinf:" + b"\x08\x02" + b"\0" * 16 + b"\xff" * 40,  # a length beyond the file
    ],
)
def test_what_only_looks_like_a_header_is_passed_over(
    tmp_path: Path, go_binary: Callable[..., Path], noise: bytes
) -> None:
    info = read_build_info(go_binary(tmp_path / "tool", LISTING, noise=noise))
    assert info is not None
    assert info.modules["example.org/tool"] == "v1.2.3"


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/sh\n", b"\xff Go buildinf:", b"\xff Go buildinf:\x08\x02" + b"\0" * 17]
)
def test_other_files_have_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_build_info(path) is None
