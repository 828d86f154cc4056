"""Settings of exporters from files."""

from pathlib import Path

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.sim.exporters import reading
from kubedyno.sim.exporters.settings import Settings

pytestmark = pytest.mark.unit


def test_a_file_says_what_is_not_as_usual(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("style: nfd\nintervalSeconds: 5\nupdate: apply\n")
    assert reading.read_file(file) == Settings(style="nfd", interval_s=5, update="apply")
    file.write_text("")
    assert reading.read_file(file) == Settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("intervalSecond: 5", "intervalSecond: there is no such setting of exporters; did you mean 'intervalSeconds'?"),
        ("style: rtx", "style: invalid enum value 'rtx'"),
        ("jitter: much", "jitter: expected `float`, got `str`"),
        ("intervalSeconds: 0", "intervalSeconds is 0: write more than 0"),
        ("jitter: 2", "jitter is 2: write a share from 0 to 1"),
        ("eventsPerS: -1", r"eventsPerS is -1: write 0 \(no limit\) or more"),
        ("fullEvery: -1", r"fullEvery is -1: write 0 \(never\) or more"),
        ("a: b\n---\nc: d", "there are 2 documents; write one, with settings of exporters"),
        ("- 1", "settings.yaml"),
    ],
)
def test_wrong_settings_are_refused_with_file_and_field(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=sentence) as raised:
        reading.read_file(file)
    assert str(raised.value).startswith(str(file))


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing.yaml: No such file or directory; name a file with settings"):
        reading.read_file(tmp_path / "missing.yaml")


def test_an_interval_means_nothing_to_an_exporter_without_timer() -> None:
    assert reading.check(Settings(trigger="events", interval_s=0)).interval_s == 0
