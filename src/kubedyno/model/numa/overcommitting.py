"""What a kubelet does that miscounts: it gives a pod what others hold already."""

import msgspec

from kubedyno.model.numa import admission, memory
from kubedyno.model.numa.admission import Ledger, Node, Rejection
from kubedyno.model.numa.cpus import CpuLedger
from kubedyno.model.numa.devices import DeviceLedger
from kubedyno.model.numa.merging import Policy
from kubedyno.model.numa.pods import Pod


def overcommitted(node: Node, ledger: Ledger, pod: Pod) -> Ledger:
    """The ledger with a pod that is not in it charged, whatever is free: it gets what it would get on an empty node.

    Where the policy refuses it even there, it is not aligned; where there are too few CPUs or devices, it gets none.
    CPUs and devices may then be held twice (`zones.overlaps`); memory is charged as far as there is some left.
    """
    alone = _alone(node, pod)
    if alone is None:
        return ledger
    uid, cpus, devices = pod.uid, ledger.cpus, ledger.devices
    if pinned := alone.cpus.assigned.get(uid):
        cpus = CpuLedger(cpus.shared & alone.cpus.shared, {**cpus.assigned, uid: pinned})
    if given := alone.devices.assigned.get(uid):
        devices = DeviceLedger({**devices.assigned, uid: given})
    return Ledger(
        cpus=cpus,
        memory=memory.squeeze(ledger.memory, uid, alone.memory.assigned.get(uid, {})),
        devices=devices,
        affinity={**ledger.affinity, **alone.affinity},
    )


def _alone(node: Node, pod: Pod) -> Ledger | None:
    """The ledger of the node if the pod were the only one; None if it could not be there at all."""
    for policy in dict.fromkeys((node.policy, Policy.NONE)):
        other = msgspec.structs.replace(node, policy=policy)
        answer = admission.admit(other, admission.empty(other), pod)
        if not isinstance(answer, Rejection):
            return answer.ledger
    return None
