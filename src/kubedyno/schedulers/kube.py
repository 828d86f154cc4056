"""kube-scheduler: its configuration file, native gangs by PodGroup, and `/configz` as evidence."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import EngineError
from kubedyno.model.dialects import Dialect
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.activity import Activity
from kubedyno.plane.component import Component, File, Probe, flags
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.identities import Identity
from kubedyno.plane.ports import LOOPBACK
from kubedyno.plane.settings import assign, lookup, merged
from kubedyno.plane.site import Site
from kubedyno.schedulers import native
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.scheduler import Reader

_NAME = "kube-scheduler"
_IDENTITY = Identity(name=_NAME, user="system:kube-scheduler")
_HA_REPLICAS = 2


class KubeScheduler:
    """The scheduler of Kubernetes itself."""

    name = _NAME
    feature_gates: Mapping[str, bool] = native.FEATURE_GATES
    runtime_config: Mapping[str, str] = native.RUNTIME_CONFIG
    asset_groups: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = (_IDENTITY,)
    dialect: Dialect = KUBE
    engines: tuple[str, ...] = ("embedded", "local")

    def activities(self, *, cycle_s: float) -> tuple[Activity, ...]:
        """It is a process."""
        del cycle_s
        return ()

    def base_objects(self) -> list[dict[str, Any]]:
        """Kubernetes brings its own RBAC rules for it."""
        return []

    def configuration(self, site: Site, config: Mapping[str, Any]) -> dict[str, Any]:
        """The KubeSchedulerConfiguration: ours, the user's file over it, `--set` over both."""
        profile = site.profile
        connection: dict[str, Any] = {"kubeconfig": str(site.kubeconfig(_NAME))}
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
            },
            config,
        )
        for path, text in site.settings.get(_NAME, {}).items():
            document = assign(document, path, yaml.safe_load(text))
        return document

    def components(self, site: Site, *, after: tuple[str, ...], config: Mapping[str, Any]) -> tuple[Component, ...]:
        """One process, or two that elect a leader."""
        file = File(
            path=site.folder / "config" / f"{_NAME}.yaml",
            text=yaml.safe_dump(self.configuration(site, config), sort_keys=False),
        )
        count = 1 if site.ha == "none" else _HA_REPLICAS
        return tuple(self._component(site, name, file, after) for name in site.replica_names(_NAME, count))

    def _component(self, site: Site, name: str, file: File, after: tuple[str, ...]) -> Component:
        port = site.draw_port()
        kubeconfig = str(site.kubeconfig(_NAME))
        return Component(
            name=name,
            program=_NAME,
            called=_NAME,
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
            asked = set(site.settings.get(_NAME, {}))
            for path in sorted(_leaf_paths(written) | asked):
                if path in {"apiVersion", "kind"}:
                    continue
                value = lookup(reported, path)
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
    """Dotted paths of all scalars outside lists: the scheduler adds to lists of profiles and plugins."""
    if isinstance(document, dict):
        below = (_leaf_paths(value, f"{prefix}{key}.") for key, value in document.items())
        return set().union(*below)
    return set() if isinstance(document, list) else {prefix[:-1]}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


KUBE_SCHEDULER = KubeScheduler()
