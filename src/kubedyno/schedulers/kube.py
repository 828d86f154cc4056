"""kube-scheduler: its configuration file, native gangs by PodGroup, and `/configz` as evidence."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import EngineError
from kubedyno.model.dialects import Dialect
from kubedyno.model.features import Feature
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component, File, Probe, flags
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.settings import assign, lookup, merged, typed
from kubedyno.plane.site import Site
from kubedyno.schedulers import native
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.priorities import priority_classes
from kubedyno.schedulers.scheduler import Reader

_NAME = "kube-scheduler"
_IDENTITY = Identity(name=_NAME, user="system:kube-scheduler")
_HA_REPLICAS = 2


class KubeScheduler:
    """The scheduler of Kubernetes itself."""

    name = _NAME
    program = _NAME
    profiles: Mapping[str, Any] = MappingProxyType({})
    """The part of its configuration that says which plugins it runs; empty: its own."""
    feature_gates: Mapping[str, bool] = native.FEATURE_GATES
    runtime_config: Mapping[str, str] = native.RUNTIME_CONFIG
    asset_groups: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = (_IDENTITY,)
    dialect: Dialect = KUBE
    lacks: Mapping[Feature, str] = MappingProxyType(
        {
            "sub-groups": "its PodGroups have no parts",
            "quotas": "it has no queues",
            "reclaim": "it has no queues to reclaim for",
            "non-preemptible": "whoever has a higher priority may preempt any pod",
            "consolidation": "it never moves a pod to make room",
            "preferred-topology": "its topology constraints are all required",
            "fractions": "it counts whole GPUs",
            "numa": "it does not look at NUMA zones",
        }
    )
    engines: tuple[str, ...] = ("embedded", "local")

    def lacks_with(self, definitions: Iterable[dict[str, Any]]) -> Mapping[Feature, str]:
        """The same everywhere."""
        del definitions
        return self.lacks

    def activities(self, site: Site, *, cycle_s: float) -> tuple[Activity, ...]:
        """It is a process."""
        del site, cycle_s
        return ()

    def definitions(self) -> list[dict[str, Any]]:
        """All of its kinds are Kubernetes' own."""
        return []

    def base_objects(self) -> list[dict[str, Any]]:
        """Priority classes; Kubernetes brings its own RBAC rules for it."""
        return priority_classes()

    def configuration(self, site: Site, config: Mapping[str, Any]) -> dict[str, Any]:
        """The KubeSchedulerConfiguration: ours, the user's file over it, `--set` over both."""
        profile = site.profile
        connection: dict[str, Any] = {"kubeconfig": str(site.kubeconfig(self.name))}
        if profile.client_qps is not None:
            connection |= {"qps": profile.client_qps, "burst": profile.client_burst}
        if site.speaks_json:
            connection |= {"contentType": "application/json", "acceptContentTypes": "application/json"}
        document = merged(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": connection,
                "leaderElection": {"leaderElect": site.ha != "none"},
                **self.profiles,
            },
            config,
        )
        for path, text in site.settings.get(self.name, {}).items():
            document = assign(document, path, typed(path, text))
        return document

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """One process, or two that elect a leader."""
        file = File(
            path=site.folder / "config" / f"{self.name}.yaml",
            text=yaml.safe_dump(self.configuration(site, config), sort_keys=False),
        )
        count = 1 if site.ha == "none" else _HA_REPLICAS
        return tuple(self._component(site, name, file, after) for name in site.replica_names(self.name, count))

    def _component(self, site: Site, name: str, file: File, after: tuple[str, ...]) -> Component:
        port = site.draw_port()
        kubeconfig = str(site.kubeconfig(self.name))
        return Component(
            name=name,
            program=self.program,
            called=self.name,
            configured_by_file=True,
            role="scheduler",
            replicated=site.ha != "none",
            decides=True,
            args=flags(
                {
                    "config": str(file.path),
                    "authentication-kubeconfig": kubeconfig,
                    "authorization-kubeconfig": kubeconfig,
                    # Else it learns the CA from the API server some time after it says that it is ready.
                    "client-ca-file": str(site.pki.ca),
                    "bind-address": LOOPBACK,
                    "secure-port": port,
                    "feature-gates": site.gates_flag(),
                }
            ),
            files=(file,),
            ports={"secure": port},
            ready=Probe(url=f"https://{LOOPBACK}:{port}/readyz", self_signed=True),
            after=after,
        )

    async def read_back(self, running: Iterable[Component], reader: Reader, site: Site) -> list[Setting]:
        """What `/configz` reports for every field that we or the user wrote."""
        found = []
        for component in running:
            name = component.name
            url = f"https://{LOOPBACK}:{component.ports['secure']}/configz"
            body = await reader.fetch(Probe(url=url, identity=ADMIN.name, self_signed=True))
            reported = msgspec.json.decode(body).get("componentconfig")
            if reported is None:
                raise EngineError(f"{name} reports no configuration at {url}; is it a kube-scheduler?")
            written = yaml.safe_load(component.files[0].text)
            asked = set(site.settings.get(self.name, {}))
            for path in sorted(_leaf_paths(written) | asked):
                if path in {"apiVersion", "kind"}:
                    continue
                value = _reported(reported, written, path.split("."))
                found.append(
                    Setting(
                        component=name,
                        field=path,
                        wanted=_text(lookup(written, path)),
                        value=_text(value),
                        evidence=Evidence.REPORTED,
                        source=url,
                    )
                )
        return found


def _leaf_paths(document: Any, prefix: str = "") -> set[str]:
    """Dotted paths of all scalars outside lists of nameless items.

    Which plugins are enabled is left out: the scheduler merges that with its own.
    """
    if isinstance(document, dict):
        below = (_leaf_paths(value, f"{prefix}{key}.") for key, value in document.items() if key != "plugins")
        return set().union(*below)
    if isinstance(document, list):
        below = (_leaf_paths(item, f"{prefix}{index}.") for index, item in enumerate(document) if _name_of(item))
        return set().union(*below)
    return {prefix[:-1]}


def _reported(reported: Any, written: Any, path: list[str]) -> Any:
    """What is reported at a path of what was written; None where there is nothing.

    Up to 1.34 fields are reported by their names in Go (`ClientConnection.QPS`). Lists of named items have grown by
    defaults: an item is the one of the same name.
    """
    if not path:
        return reported
    part, *rest = path
    below = lookup(written, part)
    if isinstance(reported, Mapping):
        named = {key.lower(): value for key, value in reported.items()}
        return _reported(named.get(part.lower()), below, rest)
    if isinstance(reported, list):
        same = [item for item in reported if _name_of(item) is not None and _name_of(item) == _name_of(below)]
        return _reported(same[0] if same else lookup(reported, part), below, rest)
    return None


def _name_of(item: Any) -> str | None:
    """The name of an item of a list: of a profile, or of a plugin that is configured."""
    if not isinstance(item, Mapping):
        return None
    fields = {key.lower(): value for key, value in item.items()}
    return fields.get("schedulername") or fields.get("name")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


KUBE_SCHEDULER = KubeScheduler()
