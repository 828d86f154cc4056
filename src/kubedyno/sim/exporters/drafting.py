"""From what a kubelet tells to what an exporter is about to write, and what it remembers of it. Pure."""

import random

import msgspec

from kubedyno.model.numa.podresources import Host, Pod, View
from kubedyno.sim.exporters.accounting import Zone, zones_of
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.writing import fingerprint_of

MOST_REMEMBERED = 64
"""As many fingerprints, and as many pods that ended, an exporter remembers."""


class Past(msgspec.Struct, frozen=True):
    """What an exporter remembers since it started: a crash loses it.

    Fingerprints of its looks, the newest last; pods at its last look; pods that were told once and no more.
    """

    fingerprints: tuple[str, ...] = ()
    pods: tuple[Pod, ...] = ()
    ended: tuple[Pod, ...] = ()


NO_PAST = Past()


class Draft(msgspec.Struct, frozen=True):
    """What is to be written, and from what it was made. Policy and scope are the host's."""

    view: View
    host: Host
    settings: Settings
    past: Past
    zones: tuple[Zone, ...]
    fingerprint: str


def drafted(
    view: View, host: Host, settings: Settings, past: Past = NO_PAST, rng: random.Random | None = None
) -> Draft:
    """What an exporter makes of what it is told; with `rng`, `nfd` has its zones in random order."""
    return Draft(
        view=view,
        host=host,
        settings=settings,
        past=past,
        zones=zones_of(view, host, settings.style, rng),
        fingerprint=fingerprint_of(view, settings),
    )


def remembered(draft: Draft) -> Past:
    """What the exporter remembers after a look; `draft` is straight, not distorted."""
    past = draft.past
    now = {(pod.namespace, pod.name) for pod in draft.view.pods}
    gone = (pod for pod in past.pods if (pod.namespace, pod.name) not in now)
    # A pod that came back under its name counts once.
    ended = [pod for pod in (*past.ended, *gone) if (pod.namespace, pod.name) not in now]
    return Past(
        fingerprints=(*past.fingerprints, draft.fingerprint)[-MOST_REMEMBERED:],
        pods=draft.view.pods,
        ended=tuple(ended[-MOST_REMEMBERED:]),
    )
