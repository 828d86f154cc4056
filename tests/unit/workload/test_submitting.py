"""Submitting in virtual time: when each workload is sent, and what becomes of the record when things go wrong."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.yard import Yard, failing, lost, run_in_yard

from kubedyno.client.errors import Unreachable
from kubedyno.client.transport import Response
from kubedyno.kit.errors import EngineError
from kubedyno.kube import codec
from kubedyno.kube.resources import JOBS, PERSISTENT_VOLUME_CLAIMS, RESOURCE_QUOTAS
from kubedyno.kube.status import failure
from kubedyno.model.submissions import SubmittedFile
from kubedyno.workload import journal
from kubedyno.workload.order import Order
from kubedyno.workload.sending import resumable

pytestmark = pytest.mark.unit

Ordering = Callable[..., Order]
Desks = Callable[[Yard], Any]
JOBS_PATH = "/apis/batch/v1/namespaces/default/jobs"


def run(desk: Desks, story: Callable[[Any], Awaitable[Any]]) -> Any:
    return run_in_yard(lambda yard: story(desk(yard)))


def starts_s(file: SubmittedFile) -> list[float]:
    first = file.workloads[0].t_submit
    return [round((workload.t_submit - first) / 1e9, 3) for workload in file.workloads]


def away() -> Unreachable:
    return Unreachable(server="test", cause="cannot be connected to", remedy="start it", sent=False)


def no_duplicates(jobs: list[Any], count: int) -> None:
    assert sorted(Counter(job["metadata"]["name"] for job in jobs).values()) == [1] * count


def test_iterations_begin_after_the_delay_from_the_end_of_the_one_before(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        somebody.connection.delay_s = 0.5
        file = await somebody.submit(ordering(num_workloads=7, num_processes=3, delay_s=2.0))
        assert starts_s(file) == [0, 0, 0, 2.5, 2.5, 2.5, 5.0]
        assert somebody.connection.most == 3
        assert [workload.planned_ns for workload in file.workloads] == [
            workload.t_submit for workload in file.workloads
        ]
        assert {workload.t_accepted - workload.t_submit for workload in file.workloads} == {500_000_000}
        assert file.pace is not None
        assert (file.pace.asked_per_s, file.pace.limited) == (None, False)
        no_duplicates(await somebody.jobs(), 7)

    run(desk, story)


def test_a_rate_is_kept_whether_answers_come_or_not(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        somebody.connection.delay_s = 3.0
        file = await somebody.submit(ordering(num_workloads=21, rate_per_s=10.0))
        assert starts_s(file) == [round(index / 10, 3) for index in range(21)]
        assert file.pace is not None
        assert file.pace.achieved_per_s == pytest.approx(10.0)
        assert (file.pace.asked_per_s, file.pace.late_p99_s, file.pace.limited) == (10.0, 0.0, False)

    run(desk, story)


def test_a_rate_that_cannot_be_reached_is_told(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        somebody.connection.delay_s = 1.0
        file = await somebody.submit(ordering(num_workloads=20, rate_per_s=10.0, parallelism=2))
        assert somebody.connection.most == 2
        assert file.pace is not None
        assert file.pace.limited
        assert file.pace.achieved_per_s == pytest.approx(2.0, rel=0.1)
        assert file.pace.late_p99_s > 5
        assert file.workloads[-1].planned_ns - file.workloads[0].planned_ns == 1_900_000_000

    run(desk, story)


def test_as_many_are_in_flight_as_were_asked_for(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        somebody.connection.delay_s = 1.0
        file = await somebody.submit(ordering(num_workloads=10, parallelism=4))
        assert starts_s(file) == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
        assert somebody.connection.most == 4

    run(desk, story)


def test_a_trace_and_bursts_are_kept(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        file = await somebody.submit(ordering(num_workloads=3, trace="t"), trace_s=(0.0, 0.25, 4.0))
        assert starts_s(file) == [0, 0.25, 4.0]
        assert file.pace is not None
        assert file.pace.asked_per_s == 0.5

    run(desk, story)


def test_nothing_begins_after_the_duration(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        file = await somebody.submit(ordering(num_workloads=100, rate_per_s=2.0, duration_s=3.2))
        assert starts_s(file) == [0, 0.5, 1, 1.5, 2, 2.5, 3]
        assert (somebody.tally.left_out, somebody.tally.done) == (93, 7)
        assert file.ended_at is not None

    run(desk, story)


def test_projects_get_workloads_in_turn_or_so_many_each(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        order = ordering(num_workloads=2, projects=["a", "b", "c"], count_per_project=True, dialect="kai")
        file = await somebody.submit(order)
        assert [workload.project for workload in file.workloads] == ["a", "b", "c", "a", "b", "c"]
        assert [workload.queue for workload in file.workloads] == ["a", "b", "c", "a", "b", "c"]

    run(desk, story)


def test_a_refusal_is_on_record_and_the_rest_goes_on(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        quota = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": {"count/jobs.batch": "2"}}}
        await somebody.yard.client.create(RESOURCE_QUOTAS, quota)
        await somebody.yard.client.modify(
            RESOURCE_QUOTAS,
            "q",
            lambda obj: obj.update(status={"hard": {"count/jobs.batch": "2"}, "used": {"count/jobs.batch": "0"}}),
            namespace="default",
            subresource="status",
        )
        file = await somebody.submit(ordering(num_workloads=5, num_processes=1, pvc=True))
        assert [workload.error is None for workload in file.workloads] == [True, True, False, False, False]
        refused = file.workloads[2]
        assert (refused.uid, refused.t_accepted) == (None, None)
        assert "exceeded quota: q, requested: count/jobs.batch=1" in (refused.error or "")
        assert (refused.error or "").endswith(f"(made before: PersistentVolumeClaim {refused.name})")
        assert (somebody.tally.done, somebody.tally.refused) == (5, 3)
        assert somebody.tally.first_refusal == f"{refused.name}: {refused.error}"
        assert file.ended_at is not None
        assert len(await somebody.jobs()) == 2

    run(desk, story)


def test_a_workload_that_the_server_calls_invalid_is_refused_at_once(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        file = await somebody.submit(ordering(num_workloads=2, fields=["spec.parallelism=-1"]))
        assert all("must be greater than or equal to 0" in (workload.error or "") for workload in file.workloads)
        assert somebody.yard.passed_s() < 1

    run(desk, story)


@pytest.mark.parametrize("way", ["429", "503", "500", "lost", "away"])
def test_a_server_that_is_busy_or_away_is_waited_for_without_duplicates(
    desk: Desks, ordering: Ordering, way: str
) -> None:
    async def story(somebody: Any) -> None:
        left = 40

        def fate(method: str, path: str) -> Response | Exception | None:
            nonlocal left
            if method != "POST" or not path.startswith(JOBS_PATH) or left == 0:
                return None
            left -= 1
            match way:
                case "429":
                    return Response(429, {"Retry-After": "1"}, codec.encode(failure(429, "slow down")))
                case "away":
                    return away()
                case "lost":
                    return lost()
            return failing(int(way))

        if way == "lost":
            somebody.connection.after = fate
        else:
            somebody.connection.fate = fate
        file = await somebody.submit(ordering(num_workloads=8))
        assert left == 0
        assert [workload.error for workload in file.workloads] == [None] * 8
        jobs = await somebody.jobs()
        no_duplicates(jobs, 8)
        uids = {job["metadata"]["name"]: job["metadata"]["uid"] for job in jobs}
        assert {workload.name: workload.uid for workload in file.workloads} == uids
        assert all(workload.t_accepted is not None for workload in file.workloads)

    run(desk, story)


def test_a_server_that_stays_away_ends_the_submission_which_can_go_on(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        order = ordering(num_workloads=20, num_processes=4)
        posts = 0

        def fate(method: str, _: str) -> Exception | None:
            nonlocal posts
            posts += method == "POST"
            return away() if posts > 6 else None

        somebody.connection.fate = fate
        with pytest.raises(EngineError) as raised, resumable("kubedyno submit --resume -o out"):
            await somebody.submit(order)
        assert str(raised.value).startswith("the API server took no workload for 30")
        assert str(raised.value).endswith("what was submitted is on record, `kubedyno submit --resume -o out` goes on")
        found = journal.read_folder(somebody.folder)
        assert found == journal.read_file(somebody.folder / journal.SUBMITTED)
        assert [workload.uid is not None for workload in found.workloads].count(True) == 6
        somebody.connection.fate = None
        file = await somebody.submit(order, resume=True)
        assert all(workload.uid is not None for workload in file.workloads)
        no_duplicates(await somebody.jobs(), 20)
        assert file.ended_at is not None

    run(desk, story)


def test_an_error_of_the_server_that_does_not_pass_is_a_refusal(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        somebody.connection.fate = lambda method, _: failing(500) if method == "POST" else None
        file = await somebody.submit(ordering(num_workloads=1))
        assert (file.workloads[0].error or "").startswith(f"POST {JOBS_PATH} failed with 500 InternalError: no")
        assert file.ended_at is not None

    run(desk, story)


def test_an_interruption_lets_requests_be_answered_and_the_rest_goes_on_later(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        order = ordering(num_workloads=30, rate_per_s=10.0)
        somebody.connection.delay_s = 0.3
        submitting = asyncio.ensure_future(somebody.submit(order))
        await somebody.yard.sleep(1.05)
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        file = journal.read_file(somebody.folder / journal.SUBMITTED)
        assert len(file.workloads) == 11
        assert all(workload.uid is not None for workload in file.workloads)
        assert (file.ended_at, file.pace) == (None, None)
        no_duplicates(await somebody.jobs(), 11)
        again = await somebody.submit(order, resume=True)
        no_duplicates(await somebody.jobs(), 30)
        assert again.workloads[:11] == file.workloads
        assert starts_s(again)[11:] == pytest.approx([1.3 + index / 10 for index in range(19)], abs=0.011)
        assert again.pace is not None
        assert again.pace.achieved_per_s == pytest.approx(10.0)

    run(desk, story)


def test_what_a_killed_process_sent_without_hearing_of_it_is_found(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        order = ordering(num_workloads=6, num_processes=2, pvc=True)
        await somebody.submit(order)
        data = (somebody.folder / journal.JOURNAL).read_bytes().splitlines(keepends=True)
        entries = [line for line in data if b'"line":"entry"' in line]
        lost_line = entries[3]
        kept = [line for line in data if line != lost_line and b'"line":"ended"' not in line]
        (somebody.folder / journal.JOURNAL).write_bytes(b"".join(kept))
        (somebody.folder / journal.SUBMITTED).unlink()
        before = msgspec.json.decode(lost_line)["workload"]
        file = await somebody.submit(order, resume=True)
        (found,) = [workload for workload in file.workloads if workload.name == before["name"]]
        assert (found.uid, found.t_submit, found.t_accepted) == (before["uid"], before["t_submit"], None)
        no_duplicates(await somebody.jobs(), 6)
        assert len((await somebody.yard.client.list_all(PERSISTENT_VOLUME_CLAIMS)).items) == 6

    run(desk, story)


def test_an_object_of_somebody_else_is_not_taken_for_ours(desk: Desks, ordering: Ordering) -> None:
    async def story(somebody: Any) -> None:
        job = {
            "metadata": {"name": "train-1", "namespace": "default", "labels": {"kubedyno/submission": "other"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
        }
        await somebody.yard.client.create(JOBS, job)
        text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
"""
        file = await somebody.submit(ordering(num_workloads=3), template=text)
        errors = {workload.name: workload.error for workload in file.workloads}
        assert errors == {
            "train-0": None,
            "train-1": "Job train-1 exists already, made by submission other",
            "train-2": None,
        }

    run(desk, story)
