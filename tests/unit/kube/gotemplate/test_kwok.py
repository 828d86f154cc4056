import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedyno.kube.gotemplate import kwok
from kubedyno.kube.gotemplate.functions import Function
from kubedyno.kube.gotemplate.problems import TemplateError

pytestmark = pytest.mark.unit

# Templates in the manner of stages, with what Go prints for an object in KWOK 0.8.0.
CASES = json.loads(Path(__file__).with_name("kwok_cases.json").read_text())


def functions() -> dict[str, Function]:
    return {
        **kwok.common_functions(
            now=lambda: "2026-01-02T03:04:05Z", start_time="2026-01-01T00:00:00Z", version="v0.8.0"
        ),
        **kwok.node_functions(ip="10.0.0.1", name="kwok", port=10247),
        **kwok.pod_functions(
            node_ip="10.0.0.1",
            pod_ip=lambda: "10.1.0.1",
            node_ips=lambda _: ["10.0.0.1", "fd00::1"],
            pod_ips=lambda *_: ["10.1.0.1", "fd01::1"],
        ),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["template"][:40])
def test_a_template_of_a_stage_prints_what_it_prints_in_kwok(case: dict[str, Any]) -> None:
    template = kwok.stage_template(case["template"], functions())
    if "error" in case:
        with pytest.raises(TemplateError) as caught:
            kwok.render_text(template, case["object"])
        assert str(caught.value) == case["error"]
    else:
        assert kwok.render_text(template, case["object"]) == case["output"]


def test_the_stages_that_kubedyno_brings_can_be_rendered() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
    patches = [
        patch["template"]
        for file in ("pod.yaml", "node.yaml")
        for stage in yaml.safe_load_all((resources.files("kubedyno.sim.stages") / "sets" / file).read_text())
        for patch in stage["spec"]["next"].get("patches", ())
    ]
    assert patches
    for text in patches:
        assert kwok.render_object(kwok.stage_template(text, functions()), pod)


def test_text_that_is_no_yaml_is_refused_with_what_was_printed() -> None:
    template = kwok.stage_template("a: {{ .x }}: b", {})
    with pytest.raises(TemplateError, match=r"^yaml: line .*: a: 1: b$"):
        kwok.render_object(template, {"x": 1})


def test_addresses_that_a_node_has_not_are_an_empty_text() -> None:
    given = kwok.pod_functions(node_ip="", pod_ip=str, node_ips=lambda _: (), pod_ips=lambda *_: ())
    template = kwok.stage_template(
        '[{{ NodeIPWith "n" }}{{ PodIPWith "n" false "" "" "" }}{{ PodIPsWith "n" true "" "" "" }}]', given
    )
    assert kwok.render_text(template, {}) == "[[]]"
