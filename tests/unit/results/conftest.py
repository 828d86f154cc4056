from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.records import RUN, TRIAL

from kubedyno.measure.records import RunRecord, TrialRecord


@pytest.fixture
def run() -> RunRecord:
    return RUN


@pytest.fixture
def trial() -> Callable[..., TrialRecord]:
    def make(**fields: Any) -> TrialRecord:
        return msgspec.structs.replace(TRIAL, **fields)

    return make
