"""What a kubelet 1.36 does with NUMA nodes, as functions: hints, their merge, and what a container is given.

`admission.admit` takes a node, its ledger and a pod and returns a new ledger or the kubelet's refusal. Nothing here
has state of its own. The rules are those of the topology, CPU, memory and device managers with their default feature
gates: pods with resources of their own (`spec.resources`) are admitted and aligned for devices only.
"""
