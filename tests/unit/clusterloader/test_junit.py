from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.reporting.junit import Case, document, measurement_name, overall_name, step_name

pytestmark = pytest.mark.unit

any_text = st.text(st.characters(codec=None, exclude_categories=()))
"""Surrogates and control characters too."""


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text.encode())  # noqa: S314 - our own text


def test_names_of_cases_are_those_of_clusterloader2() -> None:
    assert overall_name("dra-steady-state", "testing/dra/config.yaml") == (
        "dra-steady-state overall (testing/dra/config.yaml)"
    )
    assert step_name("load", 2, "Create objects") == "load: [step: 02] Create objects"
    assert measurement_name("load", 1, "Start", 0, "PodStartup") == "load: [step: 01] Start [00] - PodStartup"
    assert step_name("load", 112, "") == "load: [step: 112] [without a name]"


def test_a_suite_counts_its_cases_and_those_that_failed() -> None:
    cases = [
        Case("load overall (c.yaml)", 3.5, failures=("pods < wanted", "too late")),
        Case("load: [step: 01] Create", 1.25),
        Case("load: [step: 02] Wait [00] - W", 2.0, skipped='no "Prometheus"'),
        Case("load: [step: 03] Gather [00] - G", 0.0, failures=("too late",), skipped="also"),
    ]
    assert (
        document(cases, duration_s=3.75)
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="ClusterLoaderV2" tests="4" failures="2" errors="0" skipped="1" time="3.750">
    <testcase name="load overall (c.yaml)" classname="ClusterLoaderV2" time="3.500000">
        <failure type="Failure">[pods &lt; wanted
too late]</failure>
    </testcase>
    <testcase name="load: [step: 01] Create" classname="ClusterLoaderV2" time="1.250000" />
    <testcase name="load: [step: 02] Wait [00] - W" classname="ClusterLoaderV2" time="2.000000">
        <skipped message="no &quot;Prometheus&quot;" />
    </testcase>
    <testcase name="load: [step: 03] Gather [00] - G" classname="ClusterLoaderV2" time="0.000000">
        <failure type="Failure">[too late]</failure>
    </testcase>
</testsuite>
"""
    )


def test_a_run_without_cases_is_an_empty_suite() -> None:
    suite = parsed(document([], duration_s=0.0))
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("0", "0", 0)


def test_what_xml_cannot_hold_is_replaced() -> None:
    text = document([Case("a\x00b", 1.0, failures=("\x1b[31mred\x1b[0m \ud800 \ufffe",))], duration_s=1.0)
    (case,) = parsed(text)
    assert case.get("name") == "a\ufffdb"
    assert case.findtext("failure") == "[\ufffd[31mred\ufffd[0m \ufffd \ufffd]"


@given(st.lists(st.tuples(any_text, st.lists(any_text), any_text), max_size=5))
def test_any_text_gives_a_document_with_right_counts(drawn: list[tuple[str, list[str], str]]) -> None:
    cases = [Case(name, 1.0, tuple(failures), skipped) for name, failures, skipped in drawn]
    suite = parsed(document(cases, duration_s=2.0))
    assert len(suite) == len(cases)
    assert suite.get("tests") == str(len(cases))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    assert suite.get("skipped") == str(len(suite.findall("testcase/skipped")))
    for case, element in zip(cases, suite, strict=True):
        assert (element.find("failure") is not None) == bool(case.failures)


@given(any_text.map(lambda text: text.replace("\r", "")))
def test_text_that_xml_can_hold_comes_back_unchanged(text: str) -> None:
    (case,) = parsed(document([Case(text, 1.0, failures=(text,))], duration_s=1.0))
    name, failure = case.get("name"), case.findtext("failure")
    assert name is not None
    assert failure == f"[{name}]"
    assert len(name) == len(text)
    assert all(read in (written, "\ufffd") for read, written in zip(name, text, strict=True))
