"""Labels and annotations by which pools, simulated kubelets, devices and faults find each other.

A simulated node says on itself what it is: whoever plays it, in this process or another one, needs nothing else.
"""

from typing import Final

POOL: Final = "kubedyno/pool"
"""Label of a node: the pool that it belongs to."""
NODE_POOL: Final = "kwok.x-k8s.io/controller"
"""Label of a node: the NodePool object that it belongs to, as the kwok-operator writes it."""
SHARD: Final = "kubedyno/shard"
"""Label of a node: its place among the shards of simulators."""
POD_RESOURCES: Final = "kubedyno/pod-resources"
"""Label of a node, with the value `true`: its kubelet's pod-resources API is served on a socket."""

KUBELET: Final = "kubedyno/kubelet"
"""Annotation of a node: JSON of `kubelet.settings.KubeletSettings`; without it, all defaults."""
DEVICES: Final = "kubedyno/devices"
"""Annotation of a node: JSON of `devices.inventory.Inventory`, its GPUs and how they are shown."""
FAULTS: Final = "kubedyno/faults"
"""Annotation of a node: JSON list of `faults.fault.Fault`, what is wrong with it now."""
EXPORTER: Final = "kubedyno/exporter"
"""Annotation of a node: JSON of `exporters.steering.Steering`, what its exporter does otherwise than usual."""

FAKE: Final = "kwok.x-k8s.io/node"
"""Annotation (value `fake`) and taint key by which KWOK knows its nodes."""

DURATION: Final = "kubedyno/duration"
"""Annotation of a pod: how long it works (`30s`, or a distribution); without it, until it is deleted."""
START: Final = "kubedyno/start"
"""Annotation of a pod: how long it takes from its acceptance until its containers run."""
STOP: Final = "kubedyno/stop"
"""Annotation of a pod: how long its containers take to end when they are asked to."""
EXIT_CODE: Final = "kubedyno/exit-code"
"""Annotation of a pod: with what its containers end after their work; 0 is success."""
UTILISATION: Final = "kubedyno/gpu-utilisation"
"""Annotation of a pod: percent of each of its GPUs that it uses, `80` or `20-60`."""
