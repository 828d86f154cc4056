import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.model.submissions import FORMAT, SubmittedFile, SubmittedWorkload
from kubedyno.workload import journal
from kubedyno.workload.order import Order

pytestmark = pytest.mark.unit

Ordering = Callable[..., Order]
NOW = "2026-01-01T00:00:00.000000Z"


def entry(index: int, *, uid: str | None = None) -> SubmittedWorkload:
    return SubmittedWorkload(
        name=f"w-{index}",
        kind="Job",
        namespace="default",
        project=None,
        queue=None,
        gpus=1,
        workers=1,
        template_hash="h",
        planned_ns=index,
        t_submit=100 - index,
        t_accepted=None if uid is None else 200,
        uid=uid,
        error=None,
    )


@pytest.fixture
def head() -> SubmittedFile:
    return SubmittedFile(
        format=FORMAT,
        kubedyno="0",
        id="abc123",
        dialect="job",
        workload_type="training",
        server="here",
        asked={},
        started_at=NOW,
        ended_at=None,
        simulated=(),
        pace=None,
        workloads=(),
    )


async def interrupted(folder: Path, head: SubmittedFile) -> None:
    """A submission of which one workload is answered, one is not, and nothing was finished."""
    async with journal.begun(folder, head) as kept:
        kept.intend(0, entry(0))
        kept.enter(0, entry(0, uid="u0"))
        kept.intend(1, entry(1))


async def test_what_was_written_is_there_whatever_happens_then(tmp_path: Path, head: SubmittedFile) -> None:
    await interrupted(tmp_path, head)
    found = journal.read_folder(tmp_path)
    assert [workload.name for workload in found.workloads] == ["w-1", "w-0"], "by the time of submission"
    assert [workload.uid for workload in found.workloads] == [None, "u0"]
    assert (found.id, found.ended_at) == ("abc123", None)


async def test_a_line_that_was_cut_is_no_news(tmp_path: Path, head: SubmittedFile) -> None:
    await interrupted(tmp_path, head)
    file = tmp_path / journal.JOURNAL
    os.truncate(file, file.stat().st_size - 10)
    assert [workload.name for workload in journal.read_folder(tmp_path).workloads] == ["w-0"]
    async with journal.resumed(tmp_path, NOW) as kept:
        assert list(kept.state.entries) == [0]
        assert list(kept.state.open) == []
        kept.intend(1, entry(1))
        kept.enter(1, entry(1, uid="u1"))
        kept.end(NOW, None)
        kept.write_file()
    assert journal.read_file(tmp_path / journal.SUBMITTED) == journal.read_folder(tmp_path)
    assert journal.read_folder(tmp_path).ended_at == NOW


async def test_the_file_is_whole_after_every_byte_that_a_crash_may_cut(tmp_path: Path, head: SubmittedFile) -> None:
    await interrupted(tmp_path, head)
    data = (tmp_path / journal.JOURNAL).read_bytes()
    first = data.index(b"\n") + 1
    for size in range(first, len(data)):
        (tmp_path / journal.JOURNAL).write_bytes(data[:size])
        whole = data[:size].count(b"\n")
        assert len(journal.read_folder(tmp_path).workloads) == (0, 1, 1, 2)[whole - 1]


async def test_a_folder_that_is_in_use_or_used_is_refused(tmp_path: Path, head: SubmittedFile) -> None:
    async with journal.begun(tmp_path, head):
        with pytest.raises(UsageError, match="another submission is writing there; wait for its end"):
            async with journal.resumed(tmp_path, NOW):
                pytest.fail("two write at once")
    sentence = (
        f"submitted.jsonl holds submission abc123 with 0 workloads already: `kubedyno submit --resume -o {tmp_path}"
    )
    with pytest.raises(UsageError) as raised:
        async with journal.begun(tmp_path, head):
            pytest.fail("something was written over")
    assert sentence in str(raised.value)
    async with journal.resumed(tmp_path, NOW) as kept:
        kept.end(NOW, None)
        kept.write_file()
    with pytest.raises(UsageError, match=f"its submission ended at {NOW}, there is nothing to go on with"):
        async with journal.resumed(tmp_path, NOW):
            pytest.fail("it went on")
    with pytest.raises(UsageError, match=r"already: name another folder with -o$"):
        journal.refuse_used(tmp_path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"format": 1, "wor', "it is cut off; submit anew into another folder, or take a copy that is whole"),
        ("", "it is cut off"),
        ("hello", "it is no JSON: "),
        ("[]", "it is none that `kubedyno submit` wrote: `format` or `workloads` is missing"),
        ('{"items": []}', "it is none that `kubedyno submit` wrote"),
        ('{"format": 7, "workloads": []}', "it has format 7, and this version of kubedyno reads format 1"),
        ('{"format": 1, "workloads": []}', "Object missing required field `kubedyno`; it was changed, or is none"),
    ],
)
def test_a_truncated_or_foreign_file_is_refused_with_what_is_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / journal.SUBMITTED
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        journal.read_folder(tmp_path)
    assert str(raised.value).startswith(f"{file}: {sentence}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ": it is cut off in its first line: nothing was submitted; remove it and submit anew"),
        ('{"line": "he', ": it is cut off in its first line"),
        ('{"x": 1}\n', ": it is none that `kubedyno submit` wrote"),
        ("hello\n", ": it is none that `kubedyno submit` wrote"),
        ('{"line": "resumed", "at": "now"}\n', ": its first line is missing"),
    ],
)
def test_a_foreign_journal_is_refused_with_what_is_wrong(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / journal.JOURNAL
    file.write_text(text)
    with pytest.raises(UsageError) as raised:
        journal.read_folder(tmp_path)
    assert str(raised.value).startswith(f"{file}{sentence}")


async def test_a_line_that_somebody_changed_is_named(tmp_path: Path, head: SubmittedFile) -> None:
    await interrupted(tmp_path, head)
    file = tmp_path / journal.JOURNAL
    file.write_bytes(file.read_bytes().replace(b'"t_submit":100', b'"t_submit":"x"'))
    with pytest.raises(UsageError, match=rf"{journal.JOURNAL}:2: Expected `int`, got `str`"):
        journal.read_folder(tmp_path)


async def test_a_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path, head: SubmittedFile) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Not a directory; name a folder that can be written"):
        async with journal.begun(tmp_path / "file" / "out", head):
            pytest.fail("it was made")


async def test_a_full_disk_is_told_as_that(
    tmp_path: Path, head: SubmittedFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    async with journal.begun(tmp_path, head) as kept:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(EngineError, match=r"submitted.jsonl cannot be written: No space left on device; free some"):
            kept.intend(0, entry(0))


async def test_a_file_that_was_cut_is_refused_though_the_journal_is_whole(tmp_path: Path, head: SubmittedFile) -> None:
    async with journal.begun(tmp_path, head) as kept:
        kept.end(NOW, None)
        file = kept.write_file()
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(UsageError, match="it is cut off"):
        journal.read_folder(tmp_path)


def test_nothing_there_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"submitted.json does not exist: `kubedyno submit -o {tmp_path}` makes it"):
        journal.read_folder(tmp_path)


def test_lines_are_told_apart_by_their_tag() -> None:
    line = msgspec.json.encode(journal.Intent(1, entry(1)))
    assert line.startswith(b'{"line":"intent","index":1,')
