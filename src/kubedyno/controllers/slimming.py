"""Leaving out what no controller reads: with many thousands of pods, memory and time are what they cost.

Of pods and Jobs, which come in great numbers, the rest is skipped while they are decoded. Pods are never written back
as a whole; of everything else only the field managers go, which a server keeps when an update does not tell them.
"""

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from kubedyno.client.informer import Change
from kubedyno.client.shaping import Container, Metadata, Shape
from kubedyno.kube.resources import JOBS, PODS, Resource


class _Volume(TypedDict, total=False):
    """Of one that is no claim only the name is left."""

    name: Any
    persistentVolumeClaim: Any
    ephemeral: Any


class _PodSpec(TypedDict, total=False):
    activeDeadlineSeconds: Any
    containers: list[Container]
    initContainers: list[Container]
    nodeName: Any
    overhead: Any
    priorityClassName: Any
    resourceClaims: Any
    resources: Any
    terminationGracePeriodSeconds: Any
    tolerations: Any
    volumes: list[_Volume]


class _Pod(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata
    spec: _PodSpec
    status: Any


class _Job(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    metadata: Metadata
    spec: Any
    status: Any


SHAPES: Final[Mapping[Resource, Shape]] = {PODS: Shape(_Pod), JOBS: Shape(_Job)}
"""What is read of the kinds that come in great numbers."""


def slimmed(change: Change) -> None:
    """The first subscriber of an informer without a shape: all later ones see slim objects."""
    if change.new is not None:
        change.new["metadata"].pop("managedFields", None)
