"""The merge of hints, held to the cases of Kubernetes 1.36.3's own tests of its topology manager."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubedyno.model.numa import bits
from kubedyno.model.numa.hints import Hint, Hints
from kubedyno.model.numa.merging import Merger, Policy, normalised, single, widest_need

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("merging_cases.json").read_text())


def _hint(written: Sequence[Any]) -> Hint:
    nodes, preferred = written
    return Hint(None if nodes is None else bits.of(nodes), preferred)


def _providers(written: list[Any]) -> list[Hints | None]:
    return [
        None
        if hints is None
        else {resource: None if offer is None else [_hint(hint) for hint in offer] for resource, offer in hints.items()}
        for hints in written
    ]


@pytest.mark.parametrize("case", CASES["merges"], ids=lambda case: case["name"])
def test_hints_are_merged_as_the_kubelet_merges_them(case: dict[str, Any]) -> None:
    merger = Merger(Policy(case["policy"]), bits.of(case["nodes"]), case["distances"], case["closest"])
    hint, admitted = merger.merge(_providers(case["providers"]))
    assert hint == _hint(case["hint"])
    assert admitted == (hint.preferred or case["policy"] == "best-effort")


@pytest.mark.parametrize("case", CASES["admissions"], ids=lambda case: case["name"])
def test_the_policy_decides_which_merges_are_admitted(case: dict[str, Any]) -> None:
    merger = Merger(Policy(case["policy"]), bits.of([0, 1]))
    assert merger.merge(_providers(case["providers"]))[1] == case["admitted"]


@pytest.mark.parametrize("case", CASES["needs"], ids=lambda case: case["name"])
def test_the_neediest_resource_sets_the_goal(case: dict[str, Any]) -> None:
    assert widest_need([[_hint(hint) for hint in offer] for offer in case["offers"]]) == case["need"]


@pytest.mark.parametrize(
    "case",
    [case for case in CASES["comparisons"] if case["current"] and case["current"][0] and case["candidate"][0]],
    ids=lambda case: case["name"],
)
def test_of_two_hints_the_better_one_is_kept(case: dict[str, Any]) -> None:
    merger = Merger(Policy.BEST_EFFORT, bits.of(range(8)))

    def key(hint: Hint) -> tuple[bool, Any]:
        nodes = hint.nodes or 0
        return not hint.preferred, merger.fitness(nodes) if hint.preferred else merger.rank(nodes, case["goal"])

    current, candidate = _hint(case["current"]), _hint(case["candidate"])
    assert ("candidate" if key(candidate) < key(current) else "current") == case["better"]


def test_single_numa_node_looks_at_preferred_hints_of_one_node_or_any() -> None:
    offer = [Hint(1, True), Hint(2, False), Hint(3, True), Hint(None, True), Hint(None, False)]  # noqa: FBT003
    assert single(offer) == [Hint(1, preferred=True), Hint(None, preferred=True)]


def test_no_opinion_and_an_impossible_request_differ() -> None:
    offers = normalised([None, {}, {"a": None}, {"b": []}])
    assert [offer[0].preferred for offer in offers] == [True, True, True, False]


def test_policy_none_admits_whatever_the_hints_say() -> None:
    assert Merger(Policy.NONE, 3).merge([{"cpu": []}]) == (Hint(None, preferred=False), True)
