from typing import Any

import pytest

from kubedyno.kit.clock import VirtualClock
from kubedyno.kit.progress import Quiet, told

pytestmark = pytest.mark.unit


async def test_work_is_told_with_the_time_that_it_took(progress: Any) -> None:
    clock = VirtualClock()
    with told(progress, clock, "starting"):
        clock._timers.add(2_500_000_000, lambda: None)
        clock.advance_to_next()
        progress.note("half way")
    assert progress.lines == ["begin starting", "note half way", "end done in 2.5 s"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_work_that_fails_is_told_as_failed(error: BaseException, progress: Any) -> None:
    with pytest.raises(type(error)), told(progress, VirtualClock(), "starting"):
        raise error
    assert progress.lines == ["begin starting", "end failed"]


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with told(Quiet(), VirtualClock(), "starting"):
        Quiet().note("half way")
    assert capfd.readouterr() == ("", "")
