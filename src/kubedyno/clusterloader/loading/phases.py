"""Carrying out phases: objects are created, patched and deleted through the API as their tuning sets say."""

import itertools
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.clusterloader.config import Config, ObjectBundle, Phase, TuningSet
from kubedyno.clusterloader.loading import objects, reconciling, tuning
from kubedyno.clusterloader.loading.reconciling import Action, Identity, Listing, Member, State
from kubedyno.clusterloader.loading.tuning import Buckets, Started
from kubedyno.clusterloader.loading.versions import Versions
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, Resource
from kubedyno.sim.pools.sending import in_parallel

_ATTRIBUTES: Final = re.compile(r'attributes: Invalid value: "([^"]+)"')
_SLOWER: Final = 1.01
_SLOWER_S: Final = 0.5
"""A phase that takes longer than planned by more than this was held up."""
_TOLD: Final = 10
"""Different errors of one phase that are told; of the others the number."""


class Templates(Protocol):
    """Object templates, as phases need them."""

    def render(self, path: str, values: Mapping[str, Any]) -> str:
        """The text that a template makes of these values."""
        ...

    def identities(self, path: str) -> tuple[tuple[str, str], ...]:
        """The apiVersion and kind of each of its documents."""
        ...


class Phases:
    """The phases of one test: what the steps so far have made, and how to go on from there."""

    def __init__(
        self,
        config: Config,
        templates: Templates,
        client: Client,
        *,
        prefix: str,
        own: Collection[str],
        clock: Clock,
        rng: random.Random,
        on_started: Started,
    ) -> None:
        """`own` are the test's own namespaces: what is in them need not be cleared away."""
        self._config = config
        self._templates = templates
        self._client = client
        self._prefix = prefix
        self._clock = clock
        self._rng = rng
        self._state = State()
        self._own = frozenset(own)
        self._elsewhere: dict[tuple[Resource, str, str], None] = {}
        """What was made outside the test's own namespaces and is still there: kind, namespace and name."""
        self._buckets = Buckets()
        self.remarks: list[str] = []
        self.versions = Versions(client, self.remarks)
        self._on_started = on_started
        self.on_accepted: Callable[[Iterable[tuple[str, str]]], None] = lambda _: None
        """Told of the pods (namespace and name) that the API has accepted."""
        self.on_deleting: Callable[[Iterable[tuple[str, str]]], object] = lambda _: None
        """Told of the pods that are about to be deleted."""

    async def run(self, phase: Phase) -> tuple[str, ...]:
        """Bring one phase about; what could not be done, in sentences."""
        namespaces = reconciling.namespaces_of(phase, self._prefix)
        identities = [self._identity(member) for member in phase.bundle]
        wanted = reconciling.listings(phase, namespaces, self._state, identities)
        found = {(one.namespace, one.identity): await self._found(one, identities, phase) for one in wanted}
        plan = reconciling.plan(phase, namespaces, self._state, identities, found)
        self._state = self._state.after(plan)
        errors: list[str] = []
        actions = [self._action(action, errors) for action in plan.actions]
        rng = random.Random(self._rng.random())  # noqa: S311 - phases run side by side: each has draws of its own
        tuning_set, begun_ns = self._config.tuning_sets[phase.tuning_set], self._clock.monotonic_ns()
        await tuning.begin(
            actions,
            tuning_set,
            clock=self._clock,
            rng=rng,
            buckets=self._buckets,
            on_started=self._on_started,
        )
        took_s = (self._clock.monotonic_ns() - begun_ns) / NS_PER_S
        self._remark_if_slow(phase, tuning_set, len(actions), took_s)
        return _summed_up(errors)

    def _remark_if_slow(self, phase: Phase, tuning_set: TuningSet, count: int, took_s: float) -> None:
        """A rate that was asked for and not reached must not be taken for one that was."""
        planned_s = tuning.planned_s(tuning_set.load, count)
        if planned_s is not None and took_s > planned_s * _SLOWER + _SLOWER_S:
            names = ", ".join(member.basename for member in phase.bundle)
            self.remarks.append(
                f"{phase.place}: {count} times {names} took {took_s:.1f} s, where the tuning set {tuning_set.name} "
                f"asks for {planned_s:.1f} s: {count / took_s:.0f} a second, as fast as the API server answered"
            )

    def _identity(self, member: ObjectBundle) -> Identity:
        api_version, kind = self._templates.identities(member.template_path)[0]
        return Identity.of(member.basename, api_version, kind)

    async def _found(self, listing: Listing, identities: Sequence[Identity], phase: Phase) -> list[str]:
        member = phase.bundle[identities.index(listing.identity)]
        api_version, kind = self._templates.identities(member.template_path)[0]
        resource = await self.versions.resource(api_version, kind)
        live = await self._client.list_all(
            resource, namespace=listing.namespace or None, label_selector=listing.selector
        )
        return [obj["metadata"]["name"] for obj in live.items]

    def _action(self, action: Action, errors: list[str]) -> Callable[[], Any]:
        async def act() -> None:
            for member in action.members:
                try:
                    await self._do(action, member)
                except (ApiError, Unreachable, UsageError) as error:
                    where = f"{action.namespace}/{member.name}" if action.namespace else member.name
                    errors.append(f"{action.operation} {member.bundle.basename}: {where}: {error}{_spelt(str(error))}")
                    if action.operation != "delete":
                        return  # the rest of a bundle is nothing without this one

        return act

    async def _do(self, action: Action, member: Member) -> None:
        if action.operation == "delete":
            await self._delete(action, member)
            return
        for written in self._objects(action, member):
            resource, obj = await self.versions.served(written)
            namespace = action.namespace if resource.namespaced else None
            if action.operation == "create":
                await self._client.create(resource, obj, namespace=namespace)
                if namespace not in self._own:
                    self._elsewhere[resource, namespace or "", member.name] = None
                if resource == PODS:
                    self.on_accepted([(action.namespace, member.name)])
            else:
                await self._client.patch(resource, member.name, obj, kind="merge", namespace=namespace)

    def _objects(self, action: Action, member: Member) -> tuple[Object, ...]:
        bundle = member.bundle
        values = objects.placeholders(
            self._config.values,
            bundle.fill_map,
            basename=bundle.basename,
            index=action.index,
            namespace=action.namespace,
        )
        text = self._templates.render(bundle.template_path, values)
        return objects.read_objects(text, source=bundle.template_path, name=member.name, namespace=action.namespace)

    async def _delete(self, action: Action, member: Member) -> None:
        for api_version, kind in reversed(self._templates.identities(member.bundle.template_path)):
            resource = await self.versions.resource(api_version, kind)
            namespace = action.namespace if resource.namespaced else None
            await self._remove(resource, namespace or "", member.name)

    async def clear(self) -> None:
        """Delete what phases have left outside the test's own namespaces: the cluster is to be as it was found."""
        await in_parallel(lambda one: self._remove(*one), tuple(reversed(self._elsewhere)))

    async def _remove(self, resource: Resource, namespace: str, name: str) -> None:
        if resource == PODS:
            self.on_deleting([(namespace, name)])
        try:
            await self._client.delete(resource, name, namespace=namespace or None, propagation="Background")
        except ApiError as error:
            if not error.is_not_found:
                raise
        self._elsewhere.pop((resource, namespace, name), None)


def _spelt(problem: str) -> str:
    """How attributes of devices are spelt, where a server refuses their names: documents have them with dashes."""
    wrong = sorted({name for name in _ATTRIBUTES.findall(problem) if "-" in name})
    if not wrong:
        return ""
    return f"; names of attributes have no dashes: write {', '.join(name.replace('-', '_') for name in wrong)}"


def _summed_up(errors: Sequence[str]) -> tuple[str, ...]:
    """The first of them, and how many more there are: a phase may fail ten thousand times alike."""
    told = list(itertools.islice(errors, _TOLD))
    if len(errors) > _TOLD:
        told.append(f"{len(errors) - _TOLD} more objects of the phase met errors")
    return tuple(told)
