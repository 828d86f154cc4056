"""The extender that misleads a scheduler: what a configuration file says of it, and what it answers."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.lab.lab import Lab
from kubedyno.lab.spec import LabSpec
from kubedyno.scenarios.numa import extender, misleading
from kubedyno.scenarios.numa.extender import SILENT, Extender, Kind

pytestmark = pytest.mark.unit


def lab_with(config: dict[str, Any]) -> Lab:
    lab = object.__new__(Lab)
    lab.spec = LabSpec(name="test", scheduler="plugins", scheduler_config=config)
    return lab


def test_the_page_shows_the_file_that_is_needed() -> None:
    page = (Path(__file__).parents[3] / "docs" / "numa.md").read_text()
    shown = page.partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(shown) == extender.configuration(18480)


def test_the_port_is_that_of_the_file() -> None:
    assert extender.port_of(lab_with(extender.configuration(20_001))) == 20_001


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"extenders": []},
        {"extenders": [{"urlPrefix": "http://127.0.0.1:20001/theirs", "filterVerb": "filter"}]},
        {"extenders": extender.configuration(20_001)["extenders"][:3]},
    ],
    ids=["none", "empty", "another's", "a part"],
)
def test_another_file_means_no_extender_of_ours(config: dict[str, Any]) -> None:
    assert extender.port_of(lab_with(config)) is None


def test_each_pod_names_its_extender_and_takes_nothing_for_it() -> None:
    for kind in get_args(Kind):
        spec = extender.exclusive(kind, name="p").spec
        resources = spec["containers"][0]["resources"]
        assert resources["limits"] == {"cpu": "10", "memory": "1Gi", f"kubedyno/extender-{kind}": "0"}
        assert resources["requests"] == resources["limits"]


def test_every_kind_of_filter_is_tried() -> None:
    assert {fault.kind for fault in misleading.FAULTS} == set(get_args(Kind)) - {"scores"}


def test_it_answers_what_it_is_told_to_or_nothing_for_longer_than_anybody_waits() -> None:
    async def story() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        asked = Extender(clock)
        questions = asked.questions()
        assert sorted(questions) == ["/ignorable/filter", "/names/filter", "/scores/prioritize", "/whole/filter"]
        asked.answers = {"names": {"NodeNames": ["n"]}, "whole": SILENT}
        assert msgspec.json.decode(await questions["/names/filter"]({})) == {"NodeNames": ["n"]}
        for path in ("/whole/filter", "/scores/prioritize"):
            began_ns = clock.monotonic_ns()
            assert await questions[path]({}) == b"null"
            assert clock.monotonic_ns() - began_ns == 5 * 10**9
        assert asked.asked == {"names": 1, "whole": 1, "scores": 1}

    tasks.run(story, virtual=True)
