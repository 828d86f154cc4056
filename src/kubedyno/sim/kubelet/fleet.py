"""What is remembered of all simulated nodes and of the pods on them: little, because there are many."""

from kubedyno.client.informer import Key
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.model.numa.admission import Rejection
from kubedyno.sim.faults import fault, misreporting
from kubedyno.sim.faults.fault import Faults
from kubedyno.sim.kubelet import nodestates, settings
from kubedyno.sim.kubelet.addresses import AddressRange, spare
from kubedyno.sim.kubelet.changes import Changes
from kubedyno.sim.kubelet.ledger import NodeLedger
from kubedyno.sim.kubelet.plans import Plan
from kubedyno.sim.kubelet.settings import KubeletSettings
from kubedyno.sim.kubelet.sharding import shard_of


class NodeEntry:
    """A simulated node: how its kubelet behaves, what is wrong with it, who holds what on it."""

    __slots__ = (
        "_cidr",
        "_range",
        "address",
        "faults",
        "ledger",
        "name",
        "restarts_seen",
        "settings",
        "uid",
        "version",
    )

    def __init__(self, node: Object, now_ns: int) -> None:
        """UsageError where a kubelet would not start with what the node says of itself."""
        self.name: str = node["metadata"]["name"]
        self.uid: str = node["metadata"]["uid"]
        self.version = int(node["metadata"]["resourceVersion"])
        self._cidr: str = (node.get("spec") or {}).get("podCIDR") or ""
        self._range: AddressRange | None = None
        self.address = nodestates.address_of(node)
        self.settings: KubeletSettings = settings.of(node)
        self.faults: Faults = fault.of(node)
        self.ledger = NodeLedger(nodestates.registered(node), fault.lost_gpus(self.faults, now_ns))
        # Restarts that it went through before we came were another simulator's business.
        self.restarts_seen = frozenset(one.id for one in fault.restarts(self.faults, now_ns, ()))

    @property
    def range(self) -> AddressRange | None:
        """The addresses of its pods, if it has a range of its own; made when they are first asked for."""
        if self._range is None and self._cidr:
            self._range = AddressRange.of(self._cidr)
        return self._range

    def learn(self, node: Object, now_ns: int) -> bool:
        """Take over what the node says of itself now; whether there is another machine now. UsageError as above."""
        self.version = int(node["metadata"]["resourceVersion"])
        self.address = nodestates.address_of(node)
        self.settings = settings.of(node)
        self.faults = fault.of(node)
        return self.ledger.update(nodestates.registered(node), fault.lost_gpus(self.faults, now_ns))


class PodEntry:
    """A bound pod. `pod` is kept only while something is to be done for it; times are wall time in ns."""

    __slots__ = ("address", "asked_ns", "charged", "echo", "key", "node", "plan", "pod", "refusal", "seen_ns", "step_ns", "uid", "version")  # fmt: skip  # noqa: E501 # one table

    def __init__(self, key: Key, uid: str, node: str, seen_ns: int) -> None:
        self.key = key
        self.uid = uid
        self.node = node
        self.seen_ns = seen_ns
        """When it was first seen bound; 0: before we came."""
        self.asked_ns = 0
        """When it was first seen asked to go."""
        self.step_ns = 0
        """When its present step began."""
        self.version = 0
        self.echo = 0
        """The version that our last write made, if nothing follows from it: its news need not be read."""
        self.pod: Object | None = None
        self.plan: Plan | None = None
        self.charged = False
        self.refusal: Rejection | None = None
        """Why its node does not want it any more, though it may run."""
        self.address = ""


class Fleet:
    """All nodes and pods that are simulated here."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeEntry] = {}
        self.pods: dict[Key, PodEntry] = {}
        self._on: dict[str, dict[Key, None]] = {}
        self._spares: list[AddressRange] = [spare(0, 1)]
        self._stale: dict[str, NodeLedger] = {}
        self.changes = Changes()
        """Of the nodes' ledgers."""

    def clear(self, *, shards: int) -> None:
        """Forget everything: other ones of the shards into which the nodes are divided are ours now."""
        for name in self.nodes:
            self.changes.note(name)
        self.nodes.clear()
        self.pods.clear()
        self._on.clear()
        self._stale.clear()
        self._spares = [spare(number, shards) for number in range(shards)]

    def pods_on(self, node: str) -> tuple[Key, ...]:
        """The pods that are bound to a node, in the order in which they came."""
        return tuple(self._on.get(node, ()))

    def node_seen(self, node: Object, now_ns: int) -> tuple[NodeEntry, bool]:
        """The node as it is now, and whether it is new: a node of another uid is."""
        name = node["metadata"]["name"]
        entry = self.nodes.get(name)
        if entry is not None and entry.uid == node["metadata"]["uid"]:
            if entry.learn(node, now_ns):
                self.changes.note(name)
            self._note_stale(entry, now_ns)
            return entry, False
        entry = self.nodes[name] = NodeEntry(node, now_ns)
        self.changes.note(name)
        self._stale.pop(name, None)  # of a node that was stale before we came nobody knows how it was
        for key in self._on.get(name, ()):
            self.pods[key].charged = False
        return entry, True

    def state_lost(self, name: str) -> None:
        """The kubelet of a node forgot who holds what: it admits its pods anew, in the order in which they came."""
        held = {self.pods[key].uid: self.pods[key] for key in self.pods_on(name) if self.pods[key].charged}
        for uid, refusal in self.nodes[name].ledger.admit_anew(held).items():
            held[uid].charged = False
            held[uid].refusal = refusal
        self.changes.note(name)

    def node_gone(self, name: str) -> None:
        """Forget a node; pods that are still bound to it stay known."""
        if self.nodes.pop(name, None) is not None:
            self.changes.note(name)
        self._stale.pop(name, None)

    def told_ledger(self, name: str) -> NodeLedger:
        """What the kubelet of a node tells others of: its ledger, or an old one while it misreports so.

        KeyError for a node that is not there.
        """
        stale = self._stale.get(name)
        return self.nodes[name].ledger if stale is None else stale

    def _note_stale(self, entry: NodeEntry, now_ns: int) -> None:
        """Keep the ledger as it is from the moment when the kubelet begins to tell what was."""
        if entry.faults and misreporting.is_stale(entry.faults, now_ns):
            if entry.name not in self._stale:
                self._stale[entry.name] = entry.ledger.copy()
        elif self._stale:
            self._stale.pop(entry.name, None)

    def pod_seen(self, pod: Object, seen_ns: int) -> PodEntry | None:
        """The pod as it is now; None when we know something newer already."""
        metadata = pod["metadata"]
        key, uid, version = meta.key(pod), metadata["uid"], int(metadata["resourceVersion"])
        entry = self.pods.get(key)
        if entry is not None and entry.uid != uid:
            self.pod_gone(key)
            entry = None
        if entry is None:
            node = pod["spec"]["nodeName"]
            entry = self.pods[key] = PodEntry(key, uid, node, seen_ns)
            self._on.setdefault(node, {})[key] = None
        elif version < entry.version:
            return None
        entry.version = version
        entry.pod = pod
        if not entry.asked_ns and metadata.get("deletionTimestamp"):
            entry.asked_ns = seen_ns
        return entry

    def pod_gone(self, key: Key) -> None:
        """Forget a pod and free what it held."""
        entry = self.pods.pop(key, None)
        if entry is None:
            return
        self.release(entry)
        on_node = self._on[entry.node]
        del on_node[key]
        if not on_node:
            del self._on[entry.node]

    def release(self, entry: PodEntry) -> None:
        """Free what a pod held that has ended."""
        node = self.nodes.get(entry.node)
        if node is not None and entry.charged:
            node.ledger.release(entry.uid)
            self.changes.note(node.name)
        if entry.address:
            if node is not None and node.range:
                node.range.give_back(entry.address)
            self._spare(entry.node).give_back(entry.address)
        entry.charged = False
        entry.address = ""

    def address_for(self, entry: PodEntry, node: NodeEntry) -> str:
        """The pod's address: the one it has, else a free one."""
        if not entry.address:
            entry.address = (node.range.take() if node.range else None) or self._spare(node.name).take() or ""
        return entry.address

    def note_address(self, entry: PodEntry, node: NodeEntry, address: str) -> None:
        """The pod has an address from before."""
        entry.address = address
        if node.range:
            node.range.note(address)
        self._spare(node.name).note(address)

    def _spare(self, node: str) -> AddressRange:
        return self._spares[shard_of(node, len(self._spares))]
