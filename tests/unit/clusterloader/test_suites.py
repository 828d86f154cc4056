import pytest

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.language.suites import Scenario, decode_suite
from kubedyno.kit.errors import UsageError

pytestmark = pytest.mark.unit


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        decode_suite(text, "suite.yaml")
    return str(caught.value)


def test_a_suite_is_a_list_of_tests() -> None:
    suite = decode_suite(
        "- identifier: vanilla\n  configPath: testing/density/config.yaml\n"
        "- Identifier: affinity\n  configPath: testing/density/config.yaml\n  OverridePaths:\n  - a.yaml\n  - b.yaml\n",
        "suite.yaml",
    )
    assert suite.remarks == ()
    assert suite.scenarios == (
        Scenario(identifier="vanilla", config_path="testing/density/config.yaml", place=Place("suite.yaml", 1)),
        Scenario(
            identifier="affinity",
            config_path="testing/density/config.yaml",
            override_paths=("a.yaml", "b.yaml"),
            place=Place("suite.yaml", 3),
        ),
    )


def test_unknown_keys_and_keys_that_stand_twice_are_remarks() -> None:
    suite = decode_suite("- configPath: a\n  configPath: b\n  overridePath: c\n", "suite.yaml")
    assert suite.scenarios[0].config_path == "b"
    assert [str(remark) for remark in suite.remarks] == [
        "suite.yaml, line 2: configPath stands here for the second time; the last one counts",
        "suite.yaml, line 3: [0].overridePath: this key is unknown, nothing reads it; did you mean 'overridePaths'?",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "- {identifier: a_b, configPath: c}\n",
            (
                "suite.yaml, line 1: [0].identifier: 'a_b' has a _, which parts the words of file names of results; "
                "write 'a-b'"
            ),
        ),
        (
            "- identifier: a\n",
            "suite.yaml, line 1: [0]: configPath is missing; write configPath: testing/load/config.yaml",
        ),
        (
            "- {identifier: a, configPath: c}\n- {identifier: a, configPath: d}\n",
            "suite.yaml, line 2: identifier: there is a test 'a' already",
        ),
        (
            "- {configPath: c, overridePaths: d}\n",
            "suite.yaml, line 1: [0].overridePaths: expected a list, but there is the text 'd'",
        ),
        (
            "[]\n",
            "suite.yaml, line 1: there are no tests in this suite; write at least one, with its configPath",
        ),
        (
            "a: 1\n",
            (
                "suite.yaml, line 1: the file: expected a list of tests, each with identifier, configPath and "
                "overridePaths, but there is a mapping"
            ),
        ),
        (
            "",
            (
                "suite.yaml, line 1: the file: expected a list of tests, each with identifier, configPath and "
                "overridePaths, but there is nothing"
            ),
        ),
    ],
)
def test_a_suite_that_cannot_be_is_refused(text: str, message: str) -> None:
    assert refused(text) == message
