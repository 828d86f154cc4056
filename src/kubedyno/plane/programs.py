"""The catalogue: every program that kubedyno can provide, as data.

A group is what comes from one Go module (`kai`); a program is one binary of it (`kai-binder`). Both names are
accepted wherever a component is asked for. The pinned modules lie in `gomods/<folder>/`.

Programs are known by their installed names only: KAI's `scheduler` is `kai-scheduler` everywhere, so a
program called `scheduler` on somebody's PATH is never mistaken for it.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion

GOMODS = Path(__file__).with_name("gomods")


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Where the official binary is published; paths are templates of {version}, {arch} and {name}.

    Releases are taken for Linux only: upstream publishes control planes for nothing else.
    """

    base: str
    path: str
    checksum_path: str
    member: str = ""  # the program inside a .tar.gz; empty: the file is the program


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One replacement in a source file of the group's module; `why` is for the reader."""

    file: str
    old: str
    new: str
    why: str


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """Files of the module that the group needs at run time (CRDs): a glob, and a name if it is one file."""

    source: str
    name: str = ""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """What comes from one Go module: `module` at `version`, pinned in `gomods/<folder>/go.mod`."""

    name: str
    module: str
    version: str
    folder: str
    assets: tuple[Asset, ...] = ()


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One binary.

    `version_args` asks it for its version and `version_pattern` finds the version in the answer; without them
    the version is read from the Go build info. `build_s` is what a build took on two cores with a cold Go cache.
    A program that is not `stock` behaves as we need it only when built here (edits, link-time settings), so
    builds from elsewhere are taken from explicitly given folders only.
    """

    name: str
    group: str
    package: str
    version: str
    build_s: float
    ldflags: tuple[str, ...] = ()
    version_args: tuple[str, ...] | None = None
    version_pattern: str = ""
    release: Release | None = None
    edits: tuple[Edit, ...] = ()
    stock: bool = True


def _stamp(variable: str, value: str) -> str:
    return f"-X {variable}={value}"


def _kubernetes_stamps(version: str) -> tuple[str, ...]:
    """What `--version` of programs made with k8s.io/component-base prints."""
    major, minor, _ = version.removeprefix("v").split(".")
    package = "k8s.io/component-base/version"
    return (
        _stamp(f"{package}.gitVersion", version),
        _stamp(f"{package}.gitMajor", major),
        _stamp(f"{package}.gitMinor", minor),
    )


_KUBERNETES = Group(name="kubernetes", module="k8s.io/kubernetes", version="v1.36.3", folder="kubernetes")
# A module of its own: it needs more than the control plane, whose programs need not be built anew for it.
_KUBEMARK = Group(name="kubemark", module="k8s.io/kubernetes", version="v1.36.3", folder="kubemark")
_KWOK = Group(name="kwok", module="sigs.k8s.io/kwok", version="v0.8.0", folder="kubernetes")
_ETCD = Group(name="etcd", module="go.etcd.io/etcd/server/v3", version="v3.6.16", folder="etcd")
_KAI = Group(
    name="kai",
    module="github.com/NVIDIA/KAI-scheduler",
    version="v0.20.1",
    folder="kai",
    assets=(
        Asset(source="deployments/kai-scheduler/crds/*.yaml"),
        Asset(source="deployments/external-crds/*.yaml"),
    ),
)
_SCHEDULER_PLUGINS = Group(
    name="scheduler-plugins",
    module="sigs.k8s.io/scheduler-plugins",
    version="v0.34.7",
    folder="scheduler-plugins",
    assets=(
        Asset(source="config/crd/bases/*.yaml"),
        Asset(source="manifests/crds/*.yaml"),
        Asset(source="manifests/appgroup/crd.yaml", name="appgroups.yaml"),
        Asset(source="manifests/networktopology/crd.yaml", name="networktopologies.yaml"),
        Asset(source="manifests/noderesourcetopology/crd.yaml", name="noderesourcetopologies.yaml"),
    ),
)
_KUEUE = Group(
    name="kueue",
    module="sigs.k8s.io/kueue",
    version="v0.15.0",
    folder="kueue",
    assets=(Asset(source="config/components/crd/bases/*.yaml"),),
)
# A real exporter, to hold the simulated ones against.
_EXPORTER = Group(
    name="resource-topology-exporter",
    module="github.com/k8stopologyawareschedwg/resource-topology-exporter",
    version="v0.24.0",
    folder="resource-topology-exporter",
)

# The Kubernetes libraries that scheduler-plugins v0.34.7 is built with (the `replace` lines of its go.mod).
_SCHEDULER_PLUGINS_KUBERNETES = "v1.34.4"

_KUBERNETES_RELEASE = Release(
    base="https://dl.k8s.io",
    path="release/{version}/bin/linux/{arch}/{name}",
    checksum_path="release/{version}/bin/linux/{arch}/{name}.sha256",
)
_ETCD_RELEASE = Release(
    base="https://github.com",
    path="etcd-io/etcd/releases/download/{version}/etcd-{version}-linux-{arch}.tar.gz",
    checksum_path="etcd-io/etcd/releases/download/{version}/SHA256SUMS",
    member="etcd-{version}-linux-{arch}/etcd",
)

# Stock KAI controllers serve metrics on all interfaces, and podgroupcontroller ignores its flag for it.
_KAI_LDFLAGS = (
    _stamp("sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress", "127.0.0.1:0"),
    _stamp("github.com/NVIDIA/KAI-scheduler/pkg/scheduler/version.gitVersion", _KAI.version),
)
_KAI_EDITS = (
    Edit(
        file="cmd/scheduler/app/server.go",
        old='http.ListenAndServe(fmt.Sprintf(":%d", so.PluginServerPort), mux)',
        new='http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", so.PluginServerPort), mux)',
        why="the plugin server listens on all interfaces and has a flag for the port only",
    ),
)

# The lab's folder is the working directory of its processes; the detour keeps paths of sockets below 108 bytes.
_KUBEMARK_EDITS = (
    Edit(
        file="pkg/kubemark/hollow_kubelet.go",
        old='c.Address = "0.0.0.0"',
        new='c.Address = "127.0.0.1"',
        why="a hollow kubelet listens on all interfaces and has flags for its ports only",
    ),
    Edit(
        file="pkg/kubemark/hollow_kubelet.go",
        old='utils.MakeTempDirOrDie("hollow-kubelet.", "")',
        new='utils.MakeTempDirOrDie("hollow-kubelet.", "/proc/self/cwd")',
        why="its folder is in /tmp, whatever TMPDIR says, and stays there when it ends",
    ),
    Edit(
        file="cmd/kubemark/app/hollow_node.go",
        old="endpoint, err := fakeremote.GenerateEndpoint()",
        new='endpoint, err := fmt.Sprintf("unix:///proc/self/cwd/hollow-runtime.%d.sock", config.KubeletPort)'
        ", error(nil)",
        why="the socket of its container runtime is in /tmp and stays there when it ends",
    ),
)

_EXPORTER_EDITS = (
    Edit(
        file="pkg/resourcemonitor/resourcemonitor.go",
        old="GetMemoryResourceCounters(sysinfo.Handle{})",
        new='GetMemoryResourceCounters(sysinfo.Handle{Root: strings.TrimSuffix(rm.args.SysfsRoot, "/sys")})',
        why="it reads the memory of the machine that it runs on, whatever its flag for sysfs says",
    ),
)


def _kubernetes(name: str, *, build_s: float) -> Program:
    client = name == "kubectl"
    return Program(
        name=name,
        group="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{name}",
        version=_KUBERNETES.version,
        build_s=build_s,
        ldflags=_kubernetes_stamps(_KUBERNETES.version),
        version_args=("version", "--client") if client else ("--version",),
        version_pattern=r"Client Version: (v\S+)" if client else r"Kubernetes (v\S+)",
        release=_KUBERNETES_RELEASE,
    )


def _kai(name: str, *, build_s: float) -> Program:
    return Program(
        name=f"kai-{name}",
        group="kai",
        package=f"github.com/NVIDIA/KAI-scheduler/cmd/{name}",
        version=_KAI.version,
        build_s=build_s,
        ldflags=_KAI_LDFLAGS,
        edits=_KAI_EDITS if name == "scheduler" else (),
        stock=False,
    )


GROUPS: dict[str, Group] = {
    group.name: group for group in (_ETCD, _KUBERNETES, _KWOK, _KAI, _SCHEDULER_PLUGINS, _KUEUE, _KUBEMARK, _EXPORTER)
}

# In building order: what a first lab needs comes first.
PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program(
            name="etcd",
            group="etcd",
            package="go.etcd.io/etcd/server/v3",
            version=_ETCD.version,
            build_s=64,
            version_args=("--version",),
            version_pattern=r"etcd Version: (\S+)",
            release=_ETCD_RELEASE,
        ),
        _kubernetes("kube-apiserver", build_s=225),
        _kubernetes("kube-scheduler", build_s=25),
        _kubernetes("kube-controller-manager", build_s=48),
        _kubernetes("kubectl", build_s=20),
        Program(
            name="kwok",
            group="kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
            version=_KWOK.version,
            build_s=17,
            ldflags=(_stamp("sigs.k8s.io/kwok/pkg/consts.Version", _KWOK.version),),
            version_args=("--version",),
            version_pattern=r"kwok version (v?\S+)",
        ),
        _kai("scheduler", build_s=190),
        _kai("binder", build_s=10),
        _kai("podgrouper", build_s=7),
        _kai("podgroupcontroller", build_s=6),
        _kai("queuecontroller", build_s=6),
        _kai("admission", build_s=6),
        Program(
            name="scheduler-plugins",
            group="scheduler-plugins",
            package="sigs.k8s.io/scheduler-plugins/cmd/scheduler",
            version=_SCHEDULER_PLUGINS.version,
            build_s=274,
            # It is a kube-scheduler: its feature gates need a Kubernetes version here, not its own.
            ldflags=_kubernetes_stamps(_SCHEDULER_PLUGINS_KUBERNETES),
        ),
        Program(
            name="kueue",
            group="kueue",
            package="sigs.k8s.io/kueue/cmd/kueue",
            version=_KUEUE.version,
            build_s=223,
            ldflags=(_stamp("sigs.k8s.io/kueue/pkg/version.GitVersion", _KUEUE.version),),
        ),
        Program(
            name="kubemark",
            group="kubemark",
            package="k8s.io/kubernetes/cmd/kubemark",
            version=_KUBEMARK.version,
            build_s=57,
            ldflags=_kubernetes_stamps(_KUBEMARK.version),
            version_args=("--version",),
            version_pattern=r"Kubernetes (v\S+)",
            edits=_KUBEMARK_EDITS,
            stock=False,
        ),
        Program(
            name="resource-topology-exporter",
            group="resource-topology-exporter",
            package=f"{_EXPORTER.module}/cmd/resource-topology-exporter",
            version=_EXPORTER.version,
            build_s=120,
            ldflags=(_stamp(f"{_EXPORTER.module}/pkg/version.version", _EXPORTER.version),),
            version_args=("--version",),
            version_pattern=r"resource-topology-exporter (v\d\S*)",
            edits=_EXPORTER_EDITS,
            stock=False,
        ),
    )
}


def component_names() -> list[str]:
    """All names that `resolve` accepts: programs and groups, sorted."""
    return sorted({*PROGRAMS, *GROUPS})


def members(group: str) -> tuple[Program, ...]:
    """The programs of a group, in catalogue order."""
    return tuple(program for program in PROGRAMS.values() if program.group == group)


def resolve(components: Iterable[str]) -> list[Program]:
    """The programs that are meant by names of programs and groups, each once, in catalogue order.

    An unknown name is a usage error with the nearest known one.
    """
    wanted: set[str] = set()
    for component in components:
        if component in PROGRAMS:
            wanted.add(component)
        elif component in GROUPS:
            wanted.update(program.name for program in members(component))
        else:
            raise UsageError(f"there is no component {component!r}: {suggestion(component, component_names())}")
    return [program for program in PROGRAMS.values() if program.name in wanted]


def minor(version: str) -> tuple[str, ...]:
    """Major and minor of a version: `v1.36.3` and `1.36.0+k3s1` have the same."""
    return tuple(version.removeprefix("v").split(".")[:2])


def required_go() -> str:
    """The newest `go` directive of the pinned modules (`1.26.0`): older toolchains cannot build them."""
    directives = [
        line.split()[1]
        for folder in {group.folder for group in GROUPS.values()}
        for line in (GOMODS / folder / "go.mod").read_text().splitlines()
        if line.startswith("go ")
    ]
    return max(directives, key=lambda text: tuple(int(part) for part in text.split(".")))
