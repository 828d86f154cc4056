"""From what was asked for to what will run: pure, so that `--dry-run` shows exactly what `up` would start."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.lab import operating
from kubedyno.lab.operating import Operator
from kubedyno.lab.spec import NO_SCHEDULER, LabSpec
from kubedyno.plane import controlplane, embedded, kubemark, kwok
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import OWN_PROGRAM, Component, set_name
from kubedyno.plane.controlplane import ControlPlane
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import PortSource, counted_ports
from kubedyno.plane.settings import with_flags
from kubedyno.plane.site import PROFILES, Profile, Site, with_heartbeats
from kubedyno.plane.webhooks import Webhooks
from kubedyno.schedulers import SCHEDULERS, Scheduler
from kubedyno.sim import hollow_nodes, mounting
from kubedyno.sim.simulating import Simulation
from kubedyno.sim.stages.sets import default_stages


class LabPlan(msgspec.Struct, frozen=True, kw_only=True):
    """All processes of a lab, and the objects that its scheduler wants first."""

    spec: LabSpec
    site: Site
    control_plane: ControlPlane
    scheduler: Scheduler | None
    scheduler_components: tuple[Component, ...]
    kubelet_components: tuple[Component, ...]
    base_objects: tuple[dict[str, Any], ...]
    activities: tuple[Activity, ...] = ()
    """What runs in the lab's own process, operators aside."""
    operators: tuple[Operator, ...] = ()
    """The simulated ones; they run there too."""

    @property
    def components(self) -> tuple[Component, ...]:
        """Every process."""
        return (*self.control_plane.components, *self.scheduler_components, *self.kubelet_components)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Everybody who needs a certificate."""
        own = self.scheduler.identities if self.scheduler else ()
        return (*self.control_plane.identities, *self.kubelet_identities, *own)

    @property
    def kubelet_identities(self) -> tuple[Identity, ...]:
        """Of the processes that play the kubelets."""
        known = {"kwok": kwok.IDENTITY, OWN_PROGRAM: mounting.IDENTITY}
        hollow = (kubemark.IDENTITY,) if self.spec.kubelet == "kubemark" else ()
        return (*(known[component.program] for component in self.kubelet_components), *hollow)

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that must be there, each once."""
        started = [program for activity in self.activities for program in activity.programs]
        return tuple(dict.fromkeys((*(component.program for component in self.components), *started)))

    @property
    def webhooks(self) -> tuple[Webhooks, ...]:
        """What the API server calls components for."""
        return tuple(component.webhooks for component in self.components if component.webhooks is not None)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """CustomResourceDefinitions of our own: of the kinds that the scheduler reads, and of the operators'."""
        return [*(self.scheduler.definitions() if self.scheduler else ()), *operating.definitions(self.operators)]

    @property
    def asset_groups(self) -> tuple[str, ...]:
        """Groups whose CRDs are installed."""
        return self.scheduler.asset_groups if self.scheduler else ()


def plan(spec: LabSpec, *, folder: Path, draw_port: PortSource) -> LabPlan:
    """The plan for a checked spec below `folder`."""
    scheduler = None if spec.scheduler == NO_SCHEDULER else SCHEDULERS.get(spec.scheduler)
    site = Site(
        folder=folder,
        draw_port=draw_port,
        profile=_profile(spec),
        ha=spec.ha,
        settings=spec.settings,
        feature_gates={**(scheduler.feature_gates if scheduler else {}), **spec.feature_gates},
        speaks_json=spec.engine == "embedded",
    )
    control_plane = _control_plane(spec, site, scheduler)
    after = control_plane.servers
    scheduler_components = scheduler.components(site, after=after, config=spec.scheduler_config) if scheduler else ()
    kubelets = _kubelets(spec, site, after)
    activities = _activities(spec, site, scheduler, after)
    _refuse_unknown(spec, (*control_plane.components, *scheduler_components, *kubelets), activities)
    return LabPlan(
        spec=spec,
        site=site,
        control_plane=msgspec.structs.replace(control_plane, components=_set(control_plane.components, spec)),
        scheduler=scheduler,
        scheduler_components=_set(scheduler_components, spec),
        kubelet_components=_set(kubelets, spec),
        base_objects=tuple(scheduler.base_objects()) if scheduler else (),
        activities=activities,
        operators=operating.operators(
            spec.operators,
            scheduler_name=scheduler.dialect.scheduler_name if scheduler else operating.DEFAULT_SCHEDULER_NAME,
        ),
    )


def _control_plane(spec: LabSpec, site: Site, scheduler: Scheduler | None) -> ControlPlane:
    if spec.engine == "embedded":
        return embedded.plan(site)
    return controlplane.plan(
        site,
        runtime_config={**(scheduler.runtime_config if scheduler else {}), **spec.runtime_config},
        audit_log=spec.audit_log,
    )


def _profile(spec: LabSpec) -> Profile:
    profile = PROFILES[spec.profile]
    return with_heartbeats(profile, spec.heartbeats) if spec.heartbeats else profile


def _kubelets(spec: LabSpec, site: Site, after: tuple[str, ...]) -> tuple[Component, ...]:
    """The processes that play the kubelets; on the embedded engine our own needs none."""
    stages = tuple(map(Path, spec.stages))
    if spec.kubelet == "kwok":
        return (kwok.controller(site, stages=stages or default_stages(), after=after),)
    if spec.kubelet == "builtin" and spec.engine != "embedded":
        _refuse_broken(stages)
        simulator = mounting.simulator(
            site,
            seed=spec.seed,
            stages=stages,
            cluster_stages=spec.cluster_stages,
            job_times=spec.job_times,
            after=after,
        )
        return (simulator,)
    return ()


def _refuse_broken(stages: tuple[Path, ...]) -> None:
    """What is wrong with stages is told before anything starts."""
    if stages:
        from kubedyno.sim.stages import reading  # noqa: PLC0415 - takes a while to load, and few need it

        reading.read_files(stages)


def _simulation(spec: LabSpec, site: Site) -> tuple[Activity, ...]:
    """What of the nodes is simulated in the lab's own process: all of it, or what KWOK and kubemark leave to others."""
    if spec.kubelet == "none" or (spec.kubelet == "builtin" and spec.engine != "embedded"):
        return ()
    own = spec.kubelet == "builtin"
    stages = tuple(map(Path, spec.stages)) if own else ()
    _refuse_broken(stages)
    simulation = Simulation(
        seed=spec.seed,
        lease_s=site.profile.lease_s,
        job_times=spec.job_times,
        kubelets=own,
        stages=stages,
        cluster_stages=spec.cluster_stages,
        # Whoever asks at a socket lives in real time.
        pod_resources=site.folder / mounting.SOCKETS if spec.time == "real" else None,
    )
    port = site.draw_port() if spec.time == "real" else None
    return (mounting.activity(simulation, port=port),)


def _activities(spec: LabSpec, site: Site, scheduler: Scheduler | None, after: tuple[str, ...]) -> tuple[Activity, ...]:
    """What runs in the lab's own process, in the order of its start."""
    found: list[Activity] = []
    if spec.engine == "embedded":
        found.append(embedded.controllers(site.profile))
    found += _simulation(spec, site)
    if spec.kubelet == "kubemark":
        found.append(hollow_nodes.activity(site, after=after))
    if scheduler is not None:
        found += scheduler.activities(site, cycle_s=embedded.VIRTUAL_COST.cycle_s if spec.time == "virtual" else 0.0)
    return tuple(found)


def _set(components: tuple[Component, ...], spec: LabSpec) -> tuple[Component, ...]:
    """The components with the user's flags; files were written by their builders."""
    return tuple(
        component if component.configured_by_file else with_flags(component, spec.settings.get(set_name(component), {}))
        for component in components
    )


def settings_where_they_belong(specs: Sequence[LabSpec]) -> list[LabSpec]:
    """Labs of different schedulers that were given the same settings: each keeps those of its own components.

    What no lab has a component for stays, so that it is refused.
    """
    if len(specs) == 1:
        return list(specs)
    bare = [msgspec.structs.replace(spec, settings={}) for spec in specs]
    plans = [plan(one, folder=Path("unused"), draw_port=counted_ports(1)) for one in bare]
    known = [_settable(one.components, one.activities) for one in plans]
    everywhere = set().union(*known)
    return [
        msgspec.structs.replace(
            spec,
            settings={name: fields for name, fields in spec.settings.items() if name in own or name not in everywhere},
        )
        for spec, own in zip(specs, known, strict=True)
    ]


def _settable(components: Iterable[Component], activities: Iterable[Activity]) -> set[str]:
    """What `--set` can name."""
    hosted = {activity.name for activity in activities if activity.settable}
    return {set_name(component) for component in components} | hosted


def _refuse_unknown(spec: LabSpec, components: tuple[Component, ...], activities: tuple[Activity, ...]) -> None:
    known = _settable(components, activities)
    for name in spec.settings:
        if name not in known:
            raise UsageError(f"--set {name}....: this lab has no component {name!r}; {suggestion(name, known)}")


def render(lab: LabPlan) -> str:
    """The plan as YAML, for people and for golden files."""
    return yaml.dump(document(lab), Dumper=_PlanDumper, sort_keys=False, width=200)


class _PlanDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that configuration files can be read in the plan."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_PlanDumper.add_representer(str, _text)


def document(lab: LabPlan) -> dict[str, Any]:
    """The plan as plain data; keys and certificates are named, never shown."""
    balancer = lab.control_plane.balancer
    activities = [*lab.activities, *(operator.activity for operator in lab.operators)]
    crds = [crd["metadata"]["name"] for crd in lab.definitions]
    called = [made for hooks in lab.webhooks for made in (hooks.bare_secret(), *hooks.configurations())]
    objects = [*lab.base_objects, *called, *operating.objects(lab.operators)]
    return {
        "lab": lab.spec.name,
        "engine": lab.spec.engine,
        "profile": lab.spec.profile,
        "url": lab.control_plane.url,
        **({"balancer": {"port": balancer.port, "backends": list(balancer.backends)}} if balancer else {}),
        "certificates": [
            {"name": identity.name, "user": identity.user, "groups": list(identity.groups)}
            for identity in lab.identities
        ],
        "crds": [*lab.asset_groups, *crds],
        "objects": list(dict.fromkeys(f"{o['kind']} {o['metadata']['name']}" for o in objects)),
        "components": [_component(component) for component in lab.components],
        **({"activities": [activity.name for activity in activities]} if activities else {}),
        "nodes": lab.spec.nodes,
    }


def _component(component: Component) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": component.name,
        "program": component.program,
        "args": list(component.args),
        "env": dict(component.env),
        "ports": dict(component.ports),
        "files": [{"path": str(file.path), "text": file.text} for file in component.files],
        "ready": component.ready.url if component.ready else None,
        "after": list(component.after),
        "called": _addresses(component.webhooks) if component.webhooks else [],
    }
    return {key: value for key, value in shown.items() if value not in (None, [], {})}


def _addresses(webhooks: Webhooks) -> list[str]:
    """Where the API server calls a component."""
    conversion = ["/convert"] if webhooks.converts else []
    return [webhooks.url(path) for path in (*conversion, *(hook.path for hook in webhooks.hooks))]
