"""WaitForFinishedJobs and JobLifecycleLatency."""

import abc
import asyncio
import contextlib

import msgspec

from kubedyno.client.informer import Change
from kubedyno.clusterloader.measurements.following import Follower, follow
from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import SELECTOR_PARAMS, Params
from kubedyno.clusterloader.reporting.perfdata import PerfData, latency_item
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS

_TOLD = 5
"""Unfinished Jobs that an error names."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A Job as it was seen last; times in ns since the epoch, None: not yet."""

    name: str
    created_ns: int
    started_ns: int | None = None
    completed_ns: int | None = None
    is_finished: bool = False


class Jobs:
    """All Jobs that were ever seen: one that is deleted after its end (by its TTL) still has ended."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}
        self._unfinished: set[str] = set()
        """Counted along: looking through all Jobs at each change would take longer with each of them."""
        self._waiting: asyncio.Event = asyncio.Event()

    def change(self, change: Change) -> None:
        """News of a Job."""
        uid = change.object["metadata"]["uid"]
        seen = seen_of(change.object)
        if seen.is_finished or change.new is None:
            self._unfinished.discard(uid)
        else:
            self._unfinished.add(uid)
        if change.new is None and not seen.is_finished:
            self.seen.pop(uid, None)  # deleted before its end: nobody waits for it
        else:
            self.seen[uid] = seen
        self._waiting.set()

    @property
    def unfinished(self) -> list[Seen]:
        """Those that have not come to an end, good or bad."""
        return [self.seen[uid] for uid in self.seen if uid in self._unfinished]

    async def finished(self) -> None:
        """Return when none is unfinished."""
        while self._unfinished:
            self._waiting.clear()
            await self._waiting.wait()


def seen_of(job: Object) -> Seen:
    """What a Job shows."""
    metadata, status = job["metadata"], job.get("status", {})
    started, completed = status.get("startTime"), status.get("completionTime")
    return Seen(
        name=f"{metadata.get('namespace')}/{metadata['name']}",
        created_ns=parse_rfc3339_ns(metadata["creationTimestamp"]),
        started_ns=parse_rfc3339_ns(started) if started else None,
        completed_ns=parse_rfc3339_ns(completed) if completed else None,
        is_finished=meta.is_condition_true(job, "Complete") or meta.is_condition_true(job, "Failed"),
    )


class _FollowingJobs(abc.ABC):
    """What both measurements have in common: Jobs are followed from `start` to `gather`."""

    method = ""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene
        self._jobs = Jobs()
        self._follower: Follower | None = None

    async def execute(self, params: Params) -> Result:
        """`start` follows the Jobs of a selector; `gather` waits for their end, for `timeout` at most."""
        return await params.chosen("action", {"start": self._start, "gather": self._gather})(params)

    async def _start(self, params: Params) -> Result:
        if self._follower is None:
            self._follower = await follow(self._scene, JOBS, params.selector, on_change=self._jobs.change)
        return DONE

    async def _gather(self, params: Params) -> Result:
        if self._follower is None:
            raise UsageError(f"{self.method} {self._identifier}: gather without a start before it")
        timeout_s = params.duration_s("timeout", "10m")
        await self._within(timeout_s)
        await self._follower.stop()
        self._follower = None
        jobs, self._jobs = self._jobs, Jobs()
        return self._came_to(jobs, timeout_s)

    @abc.abstractmethod
    def _came_to(self, jobs: Jobs, timeout_s: float) -> Result:
        """What is told of them when they are finished, or the time is over."""

    async def _within(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._jobs.finished()


class WaitForFinishedJobs(_FollowingJobs):
    """Waits until all Jobs that were seen have completed or failed."""

    method = "WaitForFinishedJobs"

    def _came_to(self, jobs: Jobs, timeout_s: float) -> Result:
        left = jobs.unfinished
        if not left:
            return DONE
        names = ", ".join(sorted(one.name for one in left)[:_TOLD])
        more = ", ..." if len(left) > _TOLD else ""
        return Result(
            errors=(f"{len(left)} of {len(jobs.seen)} Jobs did not finish within {timeout_s:g} s: {names}{more}",)
        )


class JobLifecycleLatency(_FollowingJobs):
    """How long Jobs took to start and to complete, by their own stamps, which are of whole seconds."""

    method = "JobLifecycleLatency"

    def _came_to(self, jobs: Jobs, timeout_s: float) -> Result:
        seen = jobs.seen.values()
        began = [(one.started_ns - one.created_ns) / NS_PER_S for one in seen if one.started_ns is not None]
        ended = [
            (one.completed_ns - one.started_ns) / NS_PER_S
            for one in seen
            if one.started_ns is not None and one.completed_ns is not None
        ]
        items = latency_item(began, "create_to_start"), latency_item(ended, "start_to_complete")
        text = PerfData(version="1.0", items=items).json()
        left = len(jobs.unfinished)
        errors = (f"{left} of {len(seen)} Jobs did not complete within {timeout_s:g} s",) if left else ()
        return Result(summaries=(Summary(name=f"JobLifecycleLatency_{self._identifier}", text=text),), errors=errors)


WAIT_FOR_FINISHED_JOBS = Method(make=WaitForFinishedJobs, params=("action", "timeout", *SELECTOR_PARAMS))
JOB_LIFECYCLE_LATENCY = Method(make=JobLifecycleLatency, params=("action", "timeout", *SELECTOR_PARAMS))
