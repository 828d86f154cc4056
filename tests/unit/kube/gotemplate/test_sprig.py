import json
from pathlib import Path

import pytest

from kubedyno.kube.gotemplate import kwok
from kubedyno.kube.gotemplate.problems import TemplateError

pytestmark = pytest.mark.unit

# What sprig 3.3.0 prints, with numbers of the object as their JSON texts, as in KWOK.
SPRIG = json.loads(Path(__file__).with_name("sprig_cases.json").read_text())


@pytest.mark.parametrize("case", SPRIG["cases"], ids=lambda case: case["template"][:60])
def test_a_function_of_sprig_does_what_it_does_in_go(case: dict[str, str]) -> None:
    template = kwok.stage_template(case["template"], {})
    if "error" in case:
        with pytest.raises(TemplateError) as caught:
            kwok.render_text(template, SPRIG["object"])
        assert str(caught.value) == case["error"]
    else:
        assert kwok.render_text(template, SPRIG["object"]) == case["output"]


@pytest.mark.parametrize(
    "text", ['{{ repeat 2000000 "ab" }}', "{{ until 100000000 }}", '{{ indent 5000000 "a" }}', "{{ seq 99999999 }}"]
)
def test_what_would_grow_without_end_is_refused(text: str) -> None:
    template = kwok.stage_template(text, {})
    with pytest.raises(TemplateError, match=r"it would make more than 1000000 characters or items$"):
        kwok.render_text(template, {})
