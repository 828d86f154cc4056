import importlib
import pkgutil

import pytest

import kubedyno
from kubedyno.kit import errors
from kubedyno.kit.errors import CheckFailed, EngineError, ExitCode, InvalidRun, KubedynoError, UsageError, located
from kubedyno.server.messages import Refused

pytestmark = pytest.mark.unit


def test_the_exit_codes_are_the_documented_ones() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "PASSED": 0,
        "CHECK_FAILED": 1,
        "USAGE": 2,
        "ENGINE": 3,
        "INVALID": 4,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KubedynoError, 3),
        (UsageError, 2),
        (EngineError, 3),
        (errors.ProgramError, 3),
        (errors.ProcessFailure, 3),
        (CheckFailed, 1),
        (InvalidRun, 4),
    ],
)
def test_every_class_has_its_exit_code(error: type[KubedynoError], code: int) -> None:
    assert error("told").exit_code == code
    assert str(error("told")) == "told"


def below(error: type[KubedynoError]) -> set[type[KubedynoError]]:
    return {error}.union(*(below(derived) for derived in error.__subclasses__()))


def test_classes_of_upper_packages_keep_the_code_of_their_family() -> None:
    for module in pkgutil.walk_packages(kubedyno.__path__, "kubedyno."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    families = {UsageError: 2, EngineError: 3, CheckFailed: 1, InvalidRun: 4}
    for family, code in families.items():
        for error in below(family):
            assert error.exit_code == code, error
    # A refusal of the embedded server becomes its answer; the command that gets that raises an error of the client's.
    assert below(KubedynoError) - {Refused} == {KubedynoError}.union(*(below(family) for family in families))


@pytest.mark.parametrize("error", [UsageError("is wrong"), ValueError("is wrong")])
def test_an_error_is_told_with_its_place(error: Exception) -> None:
    with pytest.raises(UsageError) as caught, located("file"), located("field", ValueError):
        raise error
    assert str(caught.value) == "file: field: is wrong"


def test_other_errors_have_no_place() -> None:
    with pytest.raises(EngineError) as caught, located("file"):
        raise EngineError("failed")
    assert str(caught.value) == "failed"
