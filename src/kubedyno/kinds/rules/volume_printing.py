"""How the API server prints the source of a persistent volume: its own types, which are nearly those of pods."""

import json
from collections.abc import Mapping
from typing import Any, Final

from kubedyno.kinds.rules.internals import internal

# Go's name, the JSON name, and the type of pods that is the same or has less.
_SOURCES: Final = (
    ("GCEPersistentDisk", "gcePersistentDisk", "GCEPersistentDiskVolumeSource"),
    ("AWSElasticBlockStore", "awsElasticBlockStore", "AWSElasticBlockStoreVolumeSource"),
    ("HostPath", "hostPath", "HostPathVolumeSource"),
    ("Glusterfs", "glusterfs", "GlusterfsVolumeSource"),
    ("NFS", "nfs", "NFSVolumeSource"),
    ("RBD", "rbd", "RBDVolumeSource"),
    ("Quobyte", "quobyte", "QuobyteVolumeSource"),
    ("ISCSI", "iscsi", "ISCSIVolumeSource"),
    ("FlexVolume", "flexVolume", "FlexVolumeSource"),
    ("Cinder", "cinder", "CinderVolumeSource"),
    ("CephFS", "cephfs", "CephFSVolumeSource"),
    ("FC", "fc", "FCVolumeSource"),
    ("Flocker", "flocker", "FlockerVolumeSource"),
    ("AzureFile", "azureFile", "AzureFileVolumeSource"),
    ("VsphereVolume", "vsphereVolume", "VsphereVirtualDiskVolumeSource"),
    ("AzureDisk", "azureDisk", "AzureDiskVolumeSource"),
    ("PhotonPersistentDisk", "photonPersistentDisk", "PhotonPersistentDiskVolumeSource"),
    ("PortworxVolume", "portworxVolume", "PortworxVolumeSource"),
    ("ScaleIO", "scaleIO", "ScaleIOVolumeSource"),
    ("Local", "local", ""),
    ("StorageOS", "storageos", "StorageOSVolumeSource"),
    ("CSI", "csi", ""),
)
# What persistent volumes have more than pods, at the end.
_FURTHER: Final = {"glusterfs": "endpointsNamespace", "azureFile": "secretNamespace"}
_CSI_SECRETS: Final = ("controllerPublish", "nodeStage", "nodePublish", "controllerExpand", "nodeExpand")

Printed = dict[str, Any]


def printed_source(source: Mapping[str, Any]) -> Printed:
    """The source, given as JSON of the public API, with Go's names and everything that is not there."""
    return {go_name: _printed(key, source[key], type_) if key in source else None for go_name, key, type_ in _SOURCES}


def printed_affinity(affinity: Mapping[str, Any] | None) -> str:
    """The node affinity of a persistent volume."""
    if affinity is None:
        return "null"
    required = affinity.get("required")
    return f'{{"Required":{"null" if required is None else internal("NodeSelector", required)}}}'


def _printed(key: str, source: Mapping[str, Any], type_: str) -> Printed:
    if key == "local":
        return {"Path": source.get("path", ""), "FSType": source.get("fsType")}
    if key == "csi":
        return _printed_csi(source)
    printed: Printed = json.loads(internal(type_, source))
    if key in _FURTHER:
        printed[_go_name(_FURTHER[key])] = source.get(_FURTHER[key])
    if source.get("secretRef") is not None:
        # Secrets of persistent volumes can be in any namespace.
        secret = source["secretRef"]
        printed["SecretRef"] = (
            json.loads(internal("ObjectReference", secret)) if key == "storageos" else _secret(secret)
        )
    return printed


def _printed_csi(source: Mapping[str, Any]) -> Printed:
    return {
        "Driver": source.get("driver", ""),
        "VolumeHandle": source.get("volumeHandle", ""),
        "ReadOnly": source.get("readOnly", False),
        "FSType": source.get("fsType", ""),
        "VolumeAttributes": dict(sorted(source["volumeAttributes"].items())) if "volumeAttributes" in source else None,
        **{f"{_go_name(use)}SecretRef": _secret(source.get(f"{use}SecretRef")) for use in _CSI_SECRETS},
    }


def _secret(secret: Mapping[str, Any] | None) -> Printed | None:
    return None if secret is None else {"Name": secret.get("name", ""), "Namespace": secret.get("namespace", "")}


def _go_name(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}"
