"""Distortions of all else that an exporter tells: policy and scope, the fingerprint, and what counts. Pure."""

from typing import ClassVar

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.model.numa.podresources import View
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.exporters.accounting import Zone, counts, is_memory, zones_of
from kubedyno.sim.exporters.distortion import BaseDistortion, Stage
from kubedyno.sim.exporters.drafting import MOST_REMEMBERED, Draft, drafted


class WrongPolicy(BaseDistortion, frozen=True, tag="wrong-policy"):
    """The kubelet's topology manager is said to have another policy, which need not exist."""

    policy: str

    def apply(self, draft: Draft) -> Draft:
        """In attributes, and where the policy stood before there were any."""
        return msgspec.structs.replace(draft, host=msgspec.structs.replace(draft.host, policy=self.policy))


class WrongScope(BaseDistortion, frozen=True, tag="wrong-scope"):
    """The kubelet's topology manager is said to have another scope, which need not exist."""

    scope: str

    def apply(self, draft: Draft) -> Draft:
        """In attributes, and where the policy stood before there were any."""
        return msgspec.structs.replace(draft, host=msgspec.structs.replace(draft.host, scope=self.scope))


class WrongFingerprint(BaseDistortion, frozen=True, tag="wrong-fingerprint"):
    """The fingerprint is `value`, or that of a pod which is not there."""

    value: str = ""

    def apply(self, draft: Draft) -> Draft:
        """Also where there would be none."""
        return msgspec.structs.replace(draft, fingerprint=self.value or fingerprint([("kubedyno", "nobody")]))


class MissingFingerprint(BaseDistortion, frozen=True, tag="missing-fingerprint"):
    """No fingerprint is written, nor its method."""

    def apply(self, draft: Draft) -> Draft:
        """As an exporter that was told to write none."""
        return msgspec.structs.replace(draft, fingerprint="")


class LateFingerprint(BaseDistortion, frozen=True, tag="late-fingerprint"):
    """The fingerprint is that of `by` looks ago, or else of the first one; at the first look there is none."""

    by: int = 1

    def apply(self, draft: Draft) -> Draft:
        """As far back as the exporter remembers."""
        earlier = draft.past.fingerprints[-self.by :]
        return msgspec.structs.replace(draft, fingerprint=earlier[0] if earlier else "")

    def check(self) -> None:
        """As far back as exporters remember."""
        if not 1 <= self.by <= MOST_REMEMBERED:
            raise UsageError(f"by {self.by} must be 1 to {MOST_REMEMBERED}")


class TerminalPods(BaseDistortion, frozen=True, tag="terminal-pods"):
    """Pods that have ended since the exporter started still count, as kubelets before 1.34 told them.

    They are in zones and fingerprint until the exporter is restarted, or a pod of the name is there again.
    """

    stage: ClassVar[Stage] = Stage.COUNT

    def apply(self, draft: Draft) -> Draft:
        """Pods of the last look that are gone now have ended."""
        now = {(pod.namespace, pod.name) for pod in draft.view.pods}
        known = {(pod.namespace, pod.name): pod for pod in (*draft.past.ended, *draft.past.pods)}
        ended = (pod for key, pod in known.items() if key not in now)
        view = View((*draft.view.pods, *ended), draft.view.allocatable)
        counted = drafted(view, draft.host, draft.settings, draft.past)
        # The order is no business of this one.
        zones = {zone.name: zone for zone in counted.zones}
        return msgspec.structs.replace(counted, zones=tuple(zones[zone.name] for zone in draft.zones))


class MemoryChargedToEach(BaseDistortion, frozen=True, tag="memory-charged-to-each"):
    """Memory on several NUMA nodes is charged in full to each of them: what `rte` does anyway, and `nfd` does not."""

    stage: ClassVar[Stage] = Stage.COUNT

    def apply(self, draft: Draft) -> Draft:
        """Of memory alone, and of the pods that count anyway."""
        pods = tuple(pod for pod in draft.view.pods if counts(pod, draft.settings.style))
        told = zones_of(View(pods, draft.view.allocatable), draft.host, "rte")
        counted = {zone.name: zone.resources for zone in told}

        def charged(zone: Zone) -> Zone:
            amounts = {
                name: Amount(amount.capacity, amount.allocatable, counted[zone.name][name].available)
                for name, amount in zone.resources.items()
                if is_memory(name)
            }
            return msgspec.structs.replace(zone, resources={**zone.resources, **amounts})

        return msgspec.structs.replace(draft, zones=tuple(map(charged, draft.zones)))
