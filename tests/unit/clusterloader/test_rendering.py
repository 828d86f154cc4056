from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.language.documents import documents
from kubedyno.clusterloader.language.identities import identities, shape
from kubedyno.clusterloader.language.rendering import Templates
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.kit.randomness import stream

pytestmark = pytest.mark.unit

ADVICE = "write apiVersion and kind as they are, without placeholders: they are read before anything is rendered"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
spec:
{{if .Scheduler}}
  schedulerName: {{.Scheduler}}
{{end}}
  containers:
  - name: pause
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tests" / "density"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def templates(folder: Path) -> Templates:
    return Templates(folder, stream(1, "templates"))


def refused(templates: Templates, path: str) -> str:
    with pytest.raises(UsageError) as caught:
        templates.render(path, {})
    assert caught.value.exit_code is ExitCode.USAGE
    return str(caught.value)


def test_a_template_is_rendered_with_its_values(folder: Path, templates: Templates) -> None:
    (folder / "pod.yaml").write_text(POD)
    text = templates.render("pod.yaml", {"Name": "pod-0", "Scheduler": "kai"})
    assert "\n  name: pod-0\n" in text
    assert "\n  schedulerName: kai\n" in text
    assert "schedulerName" not in templates.render("pod.yaml", {"Name": "pod-1"})


def test_a_value_that_is_missing_is_nil(folder: Path, templates: Templates) -> None:
    (folder / "a.yaml").write_text("{{.A}} {{.Null}} {{DefaultParam .A 3}} {{eq .A nil}} {{if .A}}yes{{else}}no{{end}}")
    assert templates.render("a.yaml", {"Null": None}) == "<no value> <no value> 3 true no"


def test_a_file_is_read_once(folder: Path, templates: Templates) -> None:
    (folder / "a.yaml").write_text("{{.A}}")
    assert templates.render("a.yaml", {"A": 1}) == "1"
    (folder / "a.yaml").write_text("changed")
    assert templates.render("a.yaml", {"A": 2.0}) == "2"


def test_paths_begin_at_the_folder_and_may_leave_it(folder: Path, templates: Templates) -> None:
    (folder / "modules").mkdir()
    (folder / "modules" / "a.yaml").write_text("inner")
    (folder.parent / "b.yaml").write_text("outer")
    assert templates.render("modules/a.yaml", {}) == "inner"
    assert templates.render("/modules/a.yaml", {}) == "inner"
    assert templates.render("./gone/../modules/a.yaml", {}) == "inner"
    assert templates.render("../b.yaml", {}) == "outer"


def test_templates_draw_from_one_generator_in_their_order(folder: Path) -> None:
    (folder / "a.yaml").write_text("{{RandData 20}}")
    one, other = (Templates(folder, stream(7, "templates")) for _ in range(2))
    drawn = [one.render("a.yaml", {}) for _ in range(3)]
    assert drawn == [other.render("a.yaml", {}) for _ in range(3)]
    assert len(set(drawn)) == 3


def test_a_config_of_many_lines_is_rendered(folder: Path, templates: Templates) -> None:
    lines = "".join(f"- name: {{{{AddInt $.Nodes {number}}}}}\n" for number in range(5000))
    (folder / "a.yaml").write_text("{{range $i := Loop 10}}\n" + lines + "{{end}}")
    assert templates.render("a.yaml", {"Nodes": 5}).count("- name: 5004\n") == 10


def test_a_loop_without_end_is_stopped(folder: Path, templates: Templates) -> None:
    (folder / "a.yaml").write_text("{{range Loop 1000000}}{{range Loop 100}}{{range Loop 100}}x{{end}}{{end}}{{end}}")
    assert refused(templates, "a.yaml").endswith(
        "more than 2000000 steps are taken; look for nested loops over too much, or render less at once"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\n{{if .A}}\n", ":3:0: unexpected EOF"),
        ("a\n{{AddInts 1}}\n", ":2:2: function \"AddInts\" not defined; did you mean 'AddInt'?"),
        (
            "a\nb: {{AddInt .A 1}}\n",
            (
                ':2:5: executing "{file}" at <AddInt .A 1>: error calling AddInt: '
                "a value is missing where a number is needed; give it one with DefaultParam"
            ),
        ),
    ],
)
def test_a_broken_template_is_told_with_its_place(folder: Path, templates: Templates, text: str, problem: str) -> None:
    file = folder / "broken.yaml"
    file.write_text(text)
    assert refused(templates, "broken.yaml") == f"template: {file}{problem.format(file=file)}"


def test_a_file_that_is_missing_is_told_with_the_nearest_name(folder: Path, templates: Templates) -> None:
    (folder / "deployment.yaml").write_text("")
    (folder / "deployments").mkdir()
    assert refused(templates, "deploymnt.yaml") == (
        f"{folder}/deploymnt.yaml: there is no such file; did you mean 'deployment.yaml'?"
    )
    assert refused(templates, "modules/a.yaml") == (
        f"{folder}/modules/a.yaml: there is no folder {folder}/modules; paths begin at the folder of the root config"
    )
    assert refused(templates, "deployment.yaml/a") == (
        f"{folder}/deployment.yaml/a: there is no folder {folder}/deployment.yaml; "
        "paths begin at the folder of the root config"
    )
    assert refused(templates, "deployments") == f"{folder}/deployments is no file; name a file, not a folder"
    assert refused(templates, "") == f"{folder} is no file; name a file, not a folder"


def test_a_file_that_cannot_be_read_is_refused(folder: Path, templates: Templates) -> None:
    (folder / "a.yaml").write_bytes(b"a\nb: \xff\n")
    (folder / "loop.yaml").symlink_to("loop.yaml")
    assert refused(templates, "a.yaml") == f"{folder}/a.yaml, line 2: it is no text in UTF-8"
    assert refused(templates, "loop.yaml") == f"{folder}/loop.yaml: Too many levels of symbolic links"
    path = f"{folder}/a\0b"
    assert refused(templates, "a\0b").startswith(f"{path!r} is no path of a file: ")


def test_files_below_the_folder_are_included(folder: Path, templates: Templates) -> None:
    (folder / "parts").mkdir()
    (folder / "parts" / "a.txt").write_text("part {{.NotRendered}}")
    (folder / "link.txt").symlink_to(folder / "parts" / "a.txt")
    (folder / "a.yaml").write_text("{{IncludeFile .A}}")
    for path in ("parts/a.txt", "./parts/../parts/a.txt", "link.txt", f"{folder}/parts/a.txt"):
        assert templates.render("a.yaml", {"A": path}) == "part {{.NotRendered}}"


@pytest.mark.parametrize("function", ["IncludeFile", "IncludeEmbedFile", "IncludeEmbeddedFile"])
def test_files_outside_of_the_folder_are_not_included(folder: Path, templates: Templates, function: str) -> None:
    secret = folder.parent / "secret.txt"
    secret.write_text("secret")
    (folder.parent / "density-2").mkdir()
    (folder.parent / "density-2" / "a.txt").write_text("secret")
    (folder / "link.txt").symlink_to(secret)
    (folder / "up").symlink_to(folder.parent)
    (folder / "a.yaml").write_text(f"{{{{{function} .A}}}}")
    for path in ("../secret.txt", str(secret), "link.txt", "up/secret.txt", "../density-2/a.txt", "/etc/hostname"):
        with pytest.raises(UsageError) as caught:
            templates.render("a.yaml", {"A": path})
        assert str(caught.value) == (
            f'template: {folder}/a.yaml:1:2: executing "{folder}/a.yaml" at <{function} .A>: error calling {function}: '
            f"{path} does not lie below {folder}, the folder of the config; put a copy of it there"
        )


def test_an_included_file_that_is_missing_is_told_with_the_nearest_name(folder: Path, templates: Templates) -> None:
    (folder / "script.sh").write_text("")
    (folder / "a.yaml").write_text('{{IncludeFile "scripts.sh"}}')
    assert refused(templates, "a.yaml") == (
        f'template: {folder}/a.yaml:1:2: executing "{folder}/a.yaml" at <IncludeFile "scripts.sh">: '
        f"error calling IncludeFile: {folder}/scripts.sh: there is no such file; did you mean 'script.sh'?"
    )


def test_the_shape_of_a_template_has_nothing_between_the_first_and_the_last_braces_of_a_line() -> None:
    assert shape("a: {{.A}}-{{.B}} # c\n{{if .D}}\ne: {{.E}}\n{{end}}\n{{/* x\n*/}}") == (
        "a:  # c\n\ne: \n\n{{/* x\n*/}}"
    )


@given(st.text("a{}\n-: "))
def test_shapes_and_documents_keep_lines(text: str) -> None:
    assert shape(text).count("\n") == text.count("\n")
    assert "".join(document.text for document in documents(text)) == text
    for document in documents(text):
        assert text.split("\n")[document.line - 1 :][: document.text.count("\n")] == document.text.split("\n")[:-1]


def test_what_a_template_makes_is_told_without_rendering_it(folder: Path, templates: Templates) -> None:
    (folder / "pod.yaml").write_text(POD)
    assert templates.identities("pod.yaml") == (("v1", "Pod"),)
    (folder / "two.yaml").write_text(
        f"# first\n---\n{POD}--- # second\n{{{{$x := 1}}}}\nkind: Job\napiVersion: batch/v1\n---\n"
    )
    assert templates.identities("/two.yaml") == (("v1", "Pod"), ("batch/v1", "Job"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"f.yaml, line 1: there is no object in it; {ADVICE}"),
        ("{{.All}}\n---\n", f"f.yaml, line 1: there is no object in it; {ADVICE}"),
        ("# x\n- a\n", f"f.yaml, line 2: an object is a mapping; {ADVICE}"),
        ("kind: Pod\nspec: {}\n", f"f.yaml, line 1: apiVersion is missing; {ADVICE}"),
        (
            "apiVersion: v1\nkind: Pod\n---\n\napiVersion: v1\nkind: {{.Kind}}\n",
            f"f.yaml, line 6: kind is no text without its placeholders; {ADVICE}",
        ),
        (
            "spec:\n  kind: a\napiVersion: 1\nkind: Pod\n",
            f"f.yaml, line 3: apiVersion is no text without its placeholders; {ADVICE}",
        ),
        (
            "kind: Pod\n---\nkind: Job\nspec: {a: {{.A}}}\nb: 1\n",
            f"f.yaml, line 1: apiVersion is missing; {ADVICE}",
        ),
        (
            "---\nkind: Job\napiVersion: v1\n---\nspec: {a: {{.A}}}\nb: [1\n",
            (
                "f.yaml, line 6: without its placeholders it is no YAML: did not find expected ',' or '}'; "
                f"keep each placeholder on one line, and {ADVICE}"
            ),
        ),
    ],
)
def test_a_template_that_does_not_tell_what_it_makes_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        identities("f.yaml", text)
    assert str(caught.value) == message
