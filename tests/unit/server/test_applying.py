"""Server-side apply where time passes, which behaviours that are compared with a real server do not wait for."""

import asyncio
from typing import Any

import pytest
from tests.yard import LoopClock

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import SERVICE_ACCOUNTS
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

pytestmark = pytest.mark.unit


def pod(**spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


@pytest.mark.parametrize(
    ("again", "is_written"),
    [
        ({"terminationGracePeriodSeconds": 30}, False),
        ({"terminationGracePeriodSeconds": None}, False),  # taken away, and the default again
        ({"activeDeadlineSeconds": 60, "terminationGracePeriodSeconds": 30}, True),
    ],
)
def test_an_apply_that_changes_only_times_is_no_write(again: dict[str, Any], is_written: bool) -> None:
    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=0), clock=clock), clock=clock)
        await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": "default"}})
        first = await client.apply(pod(terminationGracePeriodSeconds=30), field_manager="alice")
        await clock.sleep(1.5)
        second = await client.apply(pod(**again), field_manager="alice")
        assert second["spec"]["terminationGracePeriodSeconds"] == 30
        assert (second != first) == is_written

    tasks.run(main, virtual=True)
