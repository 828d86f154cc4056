import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest
from tests.records import RUN, TRIAL
from tests.s3 import S3, s3_server

from kubedyno.kit.clock import RealClock
from kubedyno.results.folder import RunFolder
from kubedyno.results.publishing.opening import open_place
from kubedyno.results.publishing.places import Place
from kubedyno.results.publishing.store import Store

RunMaker = Callable[..., Path]


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store in a folder, and one on S3: all that is promised holds of both."""
    if request.param == "folder":
        return over(open_place(str(tmp_path / "store"), {}))
    s3: S3 = request.getfixturevalue("s3")
    bucket = f"bucket-{crc32(request.node.name.encode()):x}"
    s3.make_bucket(bucket)
    return over(open_place(f"s3://{bucket}/some/prefix", s3.env))


def over(place: Place) -> Store:
    return Store(place, clock=RealClock(), generator=random.Random(1))  # noqa: S311 - pauses, no secrets


@pytest.fixture
def make_run(tmp_path: Path) -> RunMaker:
    """Write a run's folder, as `run` does."""

    def make(run_id: str, *, started_at: str = RUN.started_at, trials: Sequence[dict[str, Any]] = ({},)) -> Path:
        folder = RunFolder(tmp_path / "runs", run_id)
        run = msgspec.structs.replace(RUN, id=run_id, started_at=started_at)
        folder.begin(run)
        for fields in trials:
            folder.trial(msgspec.structs.replace(TRIAL, **fields), objects=(), series=(), logs=None)
        return folder.end(run)

    return make
