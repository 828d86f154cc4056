import json
import time
from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno import __version__
from kubedyno.clusterloader.reporting import metadata
from kubedyno.clusterloader.reporting.summaries import Summary, file_name, generated_config_name, put, write
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit

AT_NS = 1_767_323_045_678_901_234  # 2026-01-02T03:04:05Z and a fraction
TIMER = Summary("Timer", "{}\n")


def test_a_name_says_what_of_which_test_and_when() -> None:
    assert file_name(TIMER, "load", "", AT_NS, UTC) == "Timer_load_2026-01-02T03:04:05Z.json"
    assert file_name(TIMER, "load", "small", AT_NS, UTC) == "Timer_load_small_2026-01-02T03:04:05Z.json"
    profile = Summary("etcd_CPUProfile", "", extension="pprof")
    assert file_name(profile, "load", "", AT_NS, UTC) == "etcd_CPUProfile_load_2026-01-02T03:04:05Z.pprof"


@pytest.mark.parametrize(
    ("offset", "stamp"),
    [
        (timedelta(hours=9), "2026-01-02T12:04:05+09:00"),
        (timedelta(hours=-3, minutes=-30), "2026-01-01T23:34:05-03:30"),
    ],
)
def test_the_time_is_that_of_the_zone(offset: timedelta, stamp: str) -> None:
    assert file_name(TIMER, "load", "", AT_NS, timezone(offset)) == f"Timer_load_{stamp}.json"


def test_without_a_zone_the_time_is_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from_utc = file_name(TIMER, "load", "", AT_NS, timezone(timedelta(hours=2)))
    monkeypatch.setenv("TZ", "EET-2")
    time.tzset()
    try:
        assert file_name(TIMER, "load", "", AT_NS) == from_utc
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_no_file_name_may_have_is_replaced() -> None:
    query = Summary("GenericPrometheusQuery a/b\n", "")
    assert file_name(query, "x/y", "", AT_NS, UTC) == "GenericPrometheusQuery a-b-_x-y_2026-01-02T03:04:05Z.json"
    assert generated_config_name("../up", "a/b") == "generatedConfig_..-up_a-b.yaml"


@given(st.text(), st.text(), st.text())
def test_a_name_never_leaves_its_folder(name: str, config: str, identifier: str) -> None:
    for made in (
        file_name(Summary(name, ""), config, identifier, AT_NS, UTC),
        generated_config_name(config, identifier),
    ):
        assert Path(made).name == made
        assert "\x00" not in made


def test_the_compiled_config_is_named_for_its_test() -> None:
    assert generated_config_name("load", "") == "generatedConfig_load.yaml"
    assert generated_config_name("load", "small") == "generatedConfig_load_small.yaml"


def test_two_summaries_of_one_name_and_second_both_survive(tmp_path: Path) -> None:
    paths = [
        write(tmp_path, Summary("Timer", text), config_name="load", identifier="", wall_ns=AT_NS + shift, zone=UTC)
        for text, shift in (("first", 0), ("second", 1000), ("third", 0), ("later", NS_PER_S))
    ]
    assert [path.name for path in paths] == [
        "Timer_load_2026-01-02T03:04:05Z.json",
        "Timer_load_2026-01-02T03:04:05Z.2.json",
        "Timer_load_2026-01-02T03:04:05Z.3.json",
        "Timer_load_2026-01-02T03:04:06Z.json",
    ]
    assert [path.read_text() for path in paths] == ["first", "second", "third", "later"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    path = put(tmp_path / "a" / "b", "junit.xml", "<x/>")
    assert path == tmp_path / "a" / "b" / "junit.xml"
    assert put(tmp_path / "a" / "b", "junit.xml", "<y/>").read_text() == "<y/>"


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as told:
        put(tmp_path / "file", "junit.xml", "")
    assert str(told.value) == (
        f"--report-dir {tmp_path / 'file'}: junit.xml cannot be written: File exists; "
        "name a folder that can be written to"
    )


def test_metadata_are_a_flat_object_of_texts() -> None:
    told = metadata.facts(provider="local", nodes=100, kubernetes_version="v1.34.1")
    assert json.loads(metadata.metadata_json({**told, "scheduler": "kai"})) == {
        "kubedynoVersion": __version__,
        "kubernetesVersion": "v1.34.1",
        "nodes": "100",
        "provider": "local",
        "scheduler": "kai",
    }
