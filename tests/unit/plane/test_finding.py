import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kubedyno.kit.errors import ProgramError, UsageError
from kubedyno.plane.finding import Found, find
from kubedyno.plane.layout import build_dir
from kubedyno.plane.probing import Broken, Versions, ask, machine_arch
from kubedyno.plane.programs import PROGRAMS

pytestmark = pytest.mark.unit

Script = Callable[[Path, str], Path]

KUBECTL = "echo 'Client Version: {version}'; echo 'Kustomize Version: v5.7.1'"
KAI_LISTING = "path\tgithub.com/NVIDIA/KAI-scheduler/cmd/binder\ndep\tgithub.com/NVIDIA/KAI-scheduler\t{version}\tx\n"


async def look(
    name: str, *, cache: Path, bin_dir: Path | None = None, notes: list[str] | None = None, **env: str
) -> Found | None:
    return await find(
        PROGRAMS[name],
        bin_dir=bin_dir,
        cache=cache,
        env=env,
        versions=Versions(cache),
        note=(notes if notes is not None else []).append,
    )


async def test_the_search_order(tmp_path: Path, cache: Path, script: Script) -> None:
    folders = {place: tmp_path / place for place in ("given", "named", "assets", "path")}
    for number, folder in enumerate(folders.values()):
        script(folder / "kubectl", KUBECTL.format(version=f"v1.36.{number}"))
    script(build_dir(PROGRAMS["kubectl"], cache, go_minor="1.26") / "kubectl", KUBECTL.format(version="v1.36.3"))
    env = {
        "KUBEDYNO_BIN_DIR": str(folders["named"]),
        "KUBEBUILDER_ASSETS": str(folders["assets"]),
        "PATH": str(folders["path"]),
    }
    seen = []
    for source in ("--bin-dir", "KUBEDYNO_BIN_DIR", "KUBEBUILDER_ASSETS", "PATH", "cache"):
        found = await look("kubectl", cache=cache, bin_dir=folders["given"], **env)
        assert found is not None
        assert found.source == source
        seen.append(found.version)
        found.path.unlink()
    assert seen == ["v1.36.0", "v1.36.1", "v1.36.2", "v1.36.3", "v1.36.3"]
    assert await look("kubectl", cache=cache, bin_dir=folders["given"], **env) is None


async def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(UsageError, match=r"--bin-dir .*/nowhere is no folder"):
        await look("etcd", cache=cache, bin_dir=tmp_path / "nowhere")


@pytest.mark.parametrize("version", ["v1.32.4-dispatcher", "v1.36.2-rc.1", "v1.35.9", "v2.36.3"])
async def test_another_version_on_path_is_skipped_with_a_note(
    tmp_path: Path, cache: Path, script: Script, version: str
) -> None:
    notes: list[str] = []
    path = script(tmp_path / "kubectl", KUBECTL.format(version=version))
    assert await look("kubectl", cache=cache, notes=notes, PATH=str(tmp_path)) is None
    assert len(notes) == 1
    assert f"{path} (PATH) is not used: it is {version}" in notes[0]


async def test_the_second_folder_on_path_is_looked_at_too(tmp_path: Path, cache: Path, script: Script) -> None:
    script(tmp_path / "old" / "kubectl", KUBECTL.format(version="v1.32.4"))
    script(tmp_path / "new" / "kubectl", KUBECTL.format(version="v1.36.1+vendor"))
    (tmp_path / "link").symlink_to(tmp_path / "old")
    notes: list[str] = []
    entries = f":{tmp_path / 'old'}:{tmp_path / 'link'}:{tmp_path / 'new'}"
    found = await look("kubectl", cache=cache, notes=notes, PATH=entries)
    assert found is not None
    assert (found.version, found.source) == ("v1.36.1+vendor", "PATH")
    assert len(notes) == 1


async def test_an_explicit_folder_wins_whatever_the_version(tmp_path: Path, cache: Path, script: Script) -> None:
    script(tmp_path / "kubectl", KUBECTL.format(version="v1.32.4-dispatcher"))
    found = await look("kubectl", cache=cache, KUBEDYNO_BIN_DIR=str(tmp_path))
    assert found is not None
    assert found.version == "v1.32.4-dispatcher"


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("echo starting; echo 'cannot open libfoo' >&2; exit 127", "exit code 127: cannot open libfoo"),
        ("exit 3", "exit code 3: no output"),
        ("echo 'Hello from something else'", "it is another program: .*Hello from something else"),
        ("#!/no/such/interpreter\n", "cannot be started"),
    ],
)
async def test_a_broken_program_is_an_error_if_given_and_skipped_on_path(
    tmp_path: Path, cache: Path, script: Script, body: str, cause: str
) -> None:
    path = script(tmp_path / "etcd", body)
    with pytest.raises(ProgramError, match=f"--bin-dir: {path} cannot be used: .*{cause}.*; replace it, or remove it"):
        await look("etcd", cache=cache, bin_dir=tmp_path)
    notes: list[str] = []
    assert await look("etcd", cache=cache, notes=notes, PATH=str(tmp_path)) is None
    assert len(notes) == 1


async def test_a_file_that_is_not_executable(tmp_path: Path, cache: Path, script: Script) -> None:
    script(tmp_path / "etcd", "true").chmod(0o644)
    with pytest.raises(ProgramError, match="it is not executable"):
        await look("etcd", cache=cache, bin_dir=tmp_path)


async def test_a_folder_of_that_name(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "etcd").mkdir()
    with pytest.raises(ProgramError, match="it is no file"):
        await look("etcd", cache=cache, bin_dir=tmp_path)


async def test_a_program_for_another_machine(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "etcd"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\x00\xff\x00" + b"\0" * 100)
    path.chmod(0o755)
    with pytest.raises(ProgramError, match="Exec format error"):
        await look("etcd", cache=cache, bin_dir=tmp_path)


async def test_a_program_that_hangs_is_ended_with_its_children(
    tmp_path: Path,
    script: Script,
    until: Callable[[Callable[[], object]], Awaitable[None]],
    is_running: Callable[[int], bool],
) -> None:
    pid_file = tmp_path / "pid"
    path = script(tmp_path / "etcd", f"sleep 300 & echo $! > {pid_file}; wait")
    with pytest.raises(Broken, match="gave no answer within"):
        await ask(PROGRAMS["etcd"], path, timeout_s=1)
    await until(lambda: not is_running(int(pid_file.read_text())))


async def test_kai_is_recognised_by_its_build_info(
    tmp_path: Path, cache: Path, go_binary: Callable[..., Path], script: Script
) -> None:
    go_binary(tmp_path / "kai-binder", KAI_LISTING.format(version="v0.19.0"))
    found = await look("kai-binder", cache=cache, bin_dir=tmp_path)
    assert found is not None
    assert found.version == "v0.19.0"
    go_binary(tmp_path / "kai-binder", KAI_LISTING.replace("KAI-scheduler\t", "Other\t"))
    with pytest.raises(ProgramError, match="it is another program"):
        await look("kai-binder", cache=cache, bin_dir=tmp_path)
    other = "arm64" if machine_arch() == "amd64" else "amd64"
    go_binary(tmp_path / "kai-binder", KAI_LISTING + f"build\tGOARCH={other}\n")
    with pytest.raises(ProgramError, match=f"Exec format error: it is built for {other}"):
        await look("kai-binder", cache=cache, bin_dir=tmp_path)
    script(tmp_path / "kai-binder", "echo v0.20.1")
    with pytest.raises(ProgramError, match="no Go build info"):
        await look("kai-binder", cache=cache, bin_dir=tmp_path)


async def test_kai_is_never_taken_from_path(tmp_path: Path, cache: Path, go_binary: Callable[..., Path]) -> None:
    for name in ("kai-binder", "binder"):
        go_binary(tmp_path / name, KAI_LISTING.format(version="v0.20.1"))
    assert await look("kai-binder", cache=cache, PATH=str(tmp_path), KUBEBUILDER_ASSETS=str(tmp_path)) is None


async def test_a_broken_file_in_the_cache_is_skipped_with_a_note(cache: Path, script: Script) -> None:
    script(build_dir(PROGRAMS["etcd"], cache, go_minor="1.26") / "etcd", "exit 1")
    notes: list[str] = []
    assert await look("etcd", cache=cache, notes=notes) is None
    assert "(cache) is not used" in notes[0]


async def test_versions_are_asked_once_per_file(tmp_path: Path, cache: Path, script: Script) -> None:
    calls = tmp_path / "calls"
    body = f"echo x >> {calls}; echo 'etcd Version: 3.6.{{patch}}'"
    path = script(tmp_path / "etcd", body.format(patch="16"))
    for _ in range(3):
        versions = Versions(cache)
        assert await versions.of(PROGRAMS["etcd"], path) == "v3.6.16"
        versions.save()
    assert calls.read_text() == "x\n"
    script(path, body.format(patch="17"))
    os.utime(path, ns=(1, 1))
    assert await Versions(cache).of(PROGRAMS["etcd"], path) == "v3.6.17"


async def test_unreadable_answers_are_forgotten(tmp_path: Path, cache: Path, script: Script) -> None:
    script(cache / "versions.json", "{half")
    path = script(tmp_path / "etcd", "echo 'etcd Version: 3.6.16'")
    assert await Versions(cache).of(PROGRAMS["etcd"], path) == "v3.6.16"
