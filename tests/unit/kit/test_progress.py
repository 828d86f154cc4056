import pytest

from kubedyno.kit.clock import VirtualClock
from kubedyno.kit.progress import Quiet, told

pytestmark = pytest.mark.unit


class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def begin(self, what: str) -> None:
        self.lines.append(f"begin {what}")

    def note(self, text: str) -> None:
        self.lines.append(f"note {text}")

    def end(self, outcome: str = "done") -> None:
        self.lines.append(f"end {outcome}")


async def test_work_is_told_with_the_time_that_it_took() -> None:
    clock, lines = VirtualClock(), Lines()
    with told(lines, clock, "starting"):
        clock._timers.add(2_500_000_000, lambda: None)
        clock.advance_to_next()
        lines.note("half way")
    assert lines.lines == ["begin starting", "note half way", "end done in 2.5 s"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_work_that_fails_is_told_as_failed(error: BaseException) -> None:
    lines = Lines()
    with pytest.raises(type(error)), told(lines, VirtualClock(), "starting"):
        raise error
    assert lines.lines == ["begin starting", "end failed"]


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with told(Quiet(), VirtualClock(), "starting"):
        Quiet().note("half way")
    assert capfd.readouterr() == ("", "")
