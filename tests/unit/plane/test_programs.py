import re

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.plane.programs import GOMODS, GROUPS, PROGRAMS, members, minor, required_go, resolve

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_pinned_in_its_module(name: str) -> None:
    program = PROGRAMS[name]
    group = GROUPS[program.group]
    folder = GOMODS / group.folder
    assert program.version == group.version
    assert re.search(
        rf"^(require )?\s*{re.escape(group.module)} {group.version}$", (folder / "go.mod").read_text(), re.MULTILINE
    )
    assert f'"{program.package}"' in (folder / "programs.go").read_text()
    assert program.package.startswith(group.module)
    assert (program.version_args is None) == (program.version_pattern == "")


def test_every_group_has_programs_and_what_is_built_comes_before_what_is_heavy() -> None:
    assert all(members(group) for group in GROUPS)
    assert next(iter(PROGRAMS)) == "etcd"


def test_names_of_programs_and_groups_are_resolved_once_in_catalogue_order() -> None:
    assert [program.name for program in resolve(["kwok", "kubernetes", "kubectl", "etcd"])] == [
        "etcd",
        "kube-apiserver",
        "kube-scheduler",
        "kube-controller-manager",
        "kubectl",
        "kwok",
    ]
    assert len(resolve(["kai"])) == 6


def test_an_unknown_name_is_a_usage_error_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"no component 'kube-apisrver': did you mean 'kube-apiserver'\?"):
        resolve(["kube-apisrver"])


def test_kai_is_known_by_its_installed_names_only() -> None:
    with pytest.raises(UsageError):
        resolve(["scheduler"])


def test_minor_versions() -> None:
    assert minor("v1.36.3") == minor("1.36.0+k3s1") == ("1", "36")
    assert minor("v3.6.16") != minor("v3.5.16")


def test_the_go_that_is_needed_is_the_newest_directive() -> None:
    assert required_go() == "1.26.0"
