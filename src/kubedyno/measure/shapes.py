"""What a recorder reads of each kind. What is not named here is skipped, so `shows` functions cannot see it.

Of most kinds that is all but `metadata.managedFields`, the largest part of many objects. Of pods, which are most of the
objects, only what tells their way: their containers are skipped, too.
"""

from typing import Any, Final, TypedDict

import msgspec

from kubedyno.client.shaping import Metadata, Shape
from kubedyno.kube.resources import PODS, Resource


class _Any(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata
    spec: Any
    status: Any
    value: Any  # of a priority class
    # Events have neither spec nor status.
    involvedObject: Any
    related: Any
    reason: Any
    message: Any
    type: Any
    action: Any
    count: Any
    series: Any
    source: Any
    eventTime: Any
    firstTimestamp: Any
    lastTimestamp: Any
    reportingComponent: Any
    reportingInstance: Any


class _PodSpec(TypedDict, total=False):
    nodeName: Any
    schedulerName: Any
    schedulingGates: Any
    priority: Any
    priorityClassName: Any


class _Container(TypedDict, total=False):
    resources: msgspec.Raw
    restartPolicy: Any


class _AskingPodSpec(_PodSpec, total=False):
    containers: list[_Container]
    initContainers: list[_Container]
    resources: msgspec.Raw
    overhead: msgspec.Raw
    nodeSelector: msgspec.Raw
    affinity: msgspec.Raw
    tolerations: msgspec.Raw
    schedulingGroup: Any


class _PodStatus(TypedDict, total=False):
    phase: Any
    conditions: Any
    reason: Any
    message: Any
    startTime: Any
    nominatedNodeName: Any
    containerStatuses: Any
    initContainerStatuses: Any


class _Pod(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata
    spec: _PodSpec
    status: _PodStatus


class _AskingPodStatus(_PodStatus, total=False):
    extendedResourceClaimStatus: Any


class _AskingPod(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata
    spec: _AskingPodSpec
    status: _AskingPodStatus


class _Version(TypedDict, total=False):
    uid: Any
    resourceVersion: Any


class _Identity(TypedDict, total=False):
    metadata: _Version


IDENTITIES: Final = Shape(_Identity)
"""No more than uid and version."""

_OF_ANY: Final = Shape(_Any)
_OF_PODS: Final = Shape(_Pod)
_OF_OBSERVED_PODS: Final = Shape(_AskingPod)


def shape_of(resource: Resource, *, is_observed: bool = False) -> Shape:
    """What is read of the objects of a kind; where somebody observes them, also what pods ask of nodes.

    That stays JSON: few pods differ in it, so most of it is never decoded.
    """
    if resource != PODS:
        return _OF_ANY
    return _OF_OBSERVED_PODS if is_observed else _OF_PODS
