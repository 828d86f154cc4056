"""What the real API server says of core objects that it does not accept, and ours beside it."""

import contextlib
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kinds import defaults, rules, strategies
from kubedyno.kinds.rules import pods
from kubedyno.kube.meta import copied
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.patches import apply_merge_patch
from kubedyno.kube.problems import invalid_status
from kubedyno.kube.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS, Resource, for_object
from kubedyno.kube.status import Status
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

OWN_NAMESPACE = "core-rules"
NOW = "2026-01-02T03:04:05Z"
LONG = "a" * 64
LONGER = "a" * 254

Object = dict[str, Any]


def thing(kind: str, name: str = "core-x", /, **fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


def pod(**spec: Any) -> Object:
    given = {"containers": [{"name": "a", "image": "i"}], "schedulerName": "none", "serviceAccountName": "default"}
    return thing("Pod", spec={**given, **spec})


def container(**more: Any) -> Object:
    return pod(containers=[{"name": "a", "image": "i", **more}])


def volume(**source: Any) -> Object:
    return pod(volumes=[{"name": "v", **source}])


def noted(**metadata: Any) -> Object:
    return thing("ConfigMap", metadata=metadata)


def resources(**parts: Any) -> Object:
    return container(resources=parts)


def env(**value_from: Any) -> Object:
    return container(env=[{"name": "A", "valueFrom": value_from}])


def security(**context: Any) -> Object:
    return container(securityContext=context)


def node_terms(*terms: Any) -> Object:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return pod(affinity={"nodeAffinity": required})


def near(term: Object, kind: str = "podAffinity") -> Object:
    return pod(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def spread(**constraint: Any) -> Object:
    given = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[{**given, **constraint}])


def probe(name: str = "livenessProbe", **fields: Any) -> Object:
    return container(**{name: fields})


def service(**spec: Any) -> Object:
    return thing("Service", spec={"ports": [{"port": 80}], **spec})


def claim(**spec: Any) -> Object:
    given = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return thing("PersistentVolumeClaim", spec={**given, **spec})


def persistent(**spec: Any) -> Object:
    given = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return thing("PersistentVolume", spec={**given, **spec})


def quota(**spec: Any) -> Object:
    return thing("ResourceQuota", spec=spec)


def limits(**limit: Any) -> Object:
    return thing("LimitRange", spec={"limits": [limit]})


def subset(**fields: Any) -> Object:
    return thing("Endpoints", subsets=[fields])


def controller(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
    return thing("ReplicationController", spec={"selector": {"a": "b"}, "template": template, **spec})


def owner(**fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u", **fields}


METADATA = [
    thing("ConfigMap", "Core"),
    thing("ConfigMap", "core_x"),
    thing("ConfigMap", LONGER),
    thing("ConfigMap", "a..b"),
    thing("ReplicationController", LONGER, spec=controller()["spec"]),
    noted(labels={f"{LONGER}/a": "b"}),
    thing("ConfigMap", "core/x"),
    thing("Service", "core.x", spec={"ports": [{"port": 80}]}),
    thing("Service", LONG, spec={"ports": [{"port": 80}]}),
    thing("Namespace", "core.x"),
    thing("Namespace", "Core"),
    thing("Node", "Core"),
    thing("ReplicationController", "Core", spec=controller()["spec"]),
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "Core-"}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "core%x"}},
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ".."}},
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "core%x"},
        "spec": {"minAvailable": 1},
    },
    noted(labels={"a b": "c"}),
    noted(labels={"a": "b c"}),
    noted(labels={"a": LONG}),
    noted(labels={LONG: "a"}),
    noted(labels={"a/b/c": "d"}),
    noted(labels={"/b": "d"}),
    noted(labels={"a_b/c": "d"}),
    noted(labels={"a/": "d"}),
    noted(annotations={"a b": "c"}),
    noted(annotations={"A/B": "c", "": "d"}),
    noted(annotations={"a": "b" * 300_000}),
    noted(ownerReferences=[owner(apiVersion="")]),
    noted(ownerReferences=[owner(apiVersion="a/", kind="", name="", uid="")]),
    noted(ownerReferences=[owner(kind="Event")]),
    noted(ownerReferences=[owner(controller=True), owner(name="p", controller=True, blockOwnerDeletion=False)]),
    noted(finalizers=["core"]),
    noted(finalizers=["a b/c"]),
    noted(finalizers=["orphan", "foregroundDeletion"]),
    noted(labels={"a": "-"}, annotations={"b_/c": ""}, finalizers=["x"]),
    {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "core-x", "finalizers": ["a b"]}},
]

CONTAINERS = [
    pod(containers=[]),
    pod(containers=[{"name": "A", "image": ""}]),
    pod(containers=[{"name": "", "image": " i"}]),
    pod(containers=[{"name": LONG, "image": "i"}, {"name": "a.b", "image": "i"}]),
    pod(containers=[{"name": "a", "image": "i"}, {"name": "a", "image": "j"}]),
    pod(initContainers=[{"name": "a", "image": "i"}]),
    pod(initContainers=[{"name": "b", "image": "i", "restartPolicy": "Sometimes"}]),
    pod(initContainers=[{"name": "b", "image": "i", "livenessProbe": {"exec": {"command": ["x"]}}, "lifecycle": {}}]),
    pod(initContainers=[{"name": "b", "image": "i", "restartPolicy": "Always", "startupProbe": {}}]),
    pod(initContainers=[{"name": "b", "image": "i", "restartPolicyRules": [{"action": "Restart"}]}]),
    pod(
        initContainers=[
            {"name": "b", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
        ]
    ),
    pod(ephemeralContainers=[{"name": "e", "image": "i", "targetContainerName": "z"}]),
    pod(
        ephemeralContainers=[
            {"name": "a", "image": "i", "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": "1"}}}
        ]
    ),
    container(terminationMessagePolicy="Never"),
    container(imagePullPolicy="Often"),
    container(ports=[{"containerPort": 0}]),
    container(ports=[{"containerPort": 70000, "hostPort": -1, "protocol": "ICMP"}]),
    container(ports=[{"containerPort": 1, "name": "Web-"}]),
    container(ports=[{"containerPort": 1, "name": "1"}, {"containerPort": 2, "name": "a--b"}]),
    container(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    container(ports=[{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]),
    pod(hostNetwork=True, containers=[{"name": "a", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}]),
    container(env=[{"name": "", "value": "x"}]),
    container(env=[{"name": "a=b"}]),
    container(env=[{"name": "é"}]),
    container(env=[{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
    env(),
    env(fieldRef={"fieldPath": ""}),
    env(fieldRef={"fieldPath": "metadata.nothing"}),
    env(fieldRef={"fieldPath": "metadata.labels"}),
    env(fieldRef={"fieldPath": "metadata.labels['a b']"}),
    env(fieldRef={"fieldPath": "metadata.name['a']"}),
    env(fieldRef={"fieldPath": "metadata.name", "apiVersion": "v2"}),
    env(resourceFieldRef={"resource": ""}),
    env(resourceFieldRef={"resource": "limits.disk"}),
    env(resourceFieldRef={"resource": "limits.cpu", "divisor": "2"}),
    env(resourceFieldRef={"resource": "limits.memory", "divisor": "3Mi"}),
    env(resourceFieldRef={"resource": "requests.ephemeral-storage", "divisor": "1m"}),
    env(resourceFieldRef={"resource": "requests.hugepages-2Mi", "divisor": "1m"}),
    env(configMapKeyRef={"name": "A", "key": ""}),
    env(secretKeyRef={"name": "a", "key": "a b"}, configMapKeyRef={"name": "a", "key": ".."}),
    env(fileKeyRef={"volumeName": "v", "path": "../x", "key": "a=b"}),
    container(envFrom=[{"prefix": "a=b", "configMapRef": {"name": "A"}}]),
    container(envFrom=[{}]),
    container(envFrom=[{"configMapRef": {"name": ""}, "secretRef": {"name": "a"}}]),
    container(volumeMounts=[{"name": "v", "mountPath": ""}]),
    container(
        volumeMounts=[
            {"name": "", "mountPath": "/x"},
            {"name": "w", "mountPath": "/x", "subPath": "/a", "subPathExpr": "../b"},
        ]
    ),
    container(volumeDevices=[{"name": "v", "devicePath": "/../x"}, {"name": "", "devicePath": ""}]),
    pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[{"name": "a", "image": "i", "volumeDevices": [{"name": "v", "devicePath": "/x"}]}],
    ),
    pod(
        volumes=[{"name": "v", "emptyDir": {}}],
        containers=[
            {
                "name": "a",
                "image": "i",
                "volumeMounts": [
                    {"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"},
                    {"name": "v", "mountPath": "/y", "mountPropagation": "Up", "recursiveReadOnly": "Enabled"},
                    {"name": "v", "mountPath": "/z", "recursiveReadOnly": "Often"},
                ],
            }
        ],
    ),
    container(
        resizePolicy=[
            {"resourceName": "disk", "restartPolicy": "Never"},
            {"resourceName": "cpu", "restartPolicy": "NotRequired"},
            {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        ]
    ),
    pod(
        restartPolicy="Never",
        containers=[
            {"name": "a", "image": "i", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
        ],
    ),
    container(
        restartPolicy="Often",
        restartPolicyRules=[{"action": "Stop", "exitCodes": {"operator": "Is", "values": [1]}}, {"action": "Restart"}],
    ),
    container(restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]),
]

PROBES = [
    probe(),
    probe(exec={}),
    probe(httpGet={"port": 0}, tcpSocket={"port": "x"}),
    probe(httpGet={"port": "Bad_", "scheme": "FTP", "httpHeaders": [{"name": "a b", "value": "c"}]}),
    probe(tcpSocket={"port": 70000}, periodSeconds=-1, initialDelaySeconds=-2, failureThreshold=-3),
    probe(grpc={"port": 0}, successThreshold=2),
    probe(exec={"command": ["x"]}, terminationGracePeriodSeconds=0),
    probe("readinessProbe", exec={"command": ["x"]}, terminationGracePeriodSeconds=5),
    probe("startupProbe", exec={"command": ["x"]}, successThreshold=3),
    container(lifecycle={"preStop": {}, "postStart": {"exec": {}}}),
    container(lifecycle={"preStop": {"sleep": {"seconds": 100}}}),
    container(lifecycle={"preStop": {"sleep": {"seconds": -1}, "exec": {"command": ["x"]}}}),
]

RESOURCES = [
    resources(limits={"cpu": "-1"}),
    resources(limits={"cpu": "1"}, requests={"cpu": "2"}),
    resources(requests={"disk": "1"}),
    resources(requests={"a b": "1"}),
    resources(limits={"example.com/gpu": "500m"}),
    resources(requests={"example.com/gpu": "1"}),
    resources(requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "2"}),
    resources(limits={f"requests.{LONG}/gpu": "1"}),
    resources(limits={"hugepages-2Mi": "3Mi"}),
    resources(limits={"hugepages-2Mi": "2Mi", "cpu": "1"}, requests={"hugepages-2Mi": "4Mi"}),
    resources(limits={"hugepages-2Mi": "4Mi"}),
    resources(limits={"pods": "1"}),
    resources(claims=[{"name": "x"}]),
    pod(
        resourceClaims=[{"name": "x", "resourceClaimName": "c"}],
        containers=[
            {
                "name": "a",
                "image": "i",
                "resources": {"claims": [{"name": "x", "request": "A"}, {"name": "x"}, {"name": "y"}, {"name": ""}]},
            }
        ],
    ),
    pod(resourceClaims=[{"name": "x"}]),
    pod(
        resourceClaims=[
            {"name": "X", "resourceClaimName": "A", "resourceClaimTemplateName": "b"},
            {"name": "", "resourceClaimName": "c"},
        ]
    ),
    pod(resourceClaims=[{"name": "x", "resourceClaimName": "c"}, {"name": "x", "resourceClaimName": "c"}]),
    pod(resources={"limits": {"ephemeral-storage": "1"}}),
    pod(
        resources={"requests": {"cpu": "1"}},
        containers=[{"name": "a", "image": "i", "resources": {"requests": {"cpu": "2"}}}],
    ),
    pod(
        resources={"limits": {"cpu": "1"}},
        containers=[{"name": "a", "image": "i", "resources": {"limits": {"cpu": "2"}}}],
    ),
]

VOLUMES = [
    pod(volumes=[{"name": "A", "emptyDir": {}}]),
    pod(volumes=[{"name": "", "emptyDir": {}}]),
    pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
    volume(emptyDir={"sizeLimit": "-1"}),
    volume(emptyDir={}, hostPath={"path": "/x"}, cephfs={"monitors": ["m"]}, downwardAPI={}),
    volume(hostPath={"path": ""}),
    volume(hostPath={"path": "/a/../b", "type": "Pipe"}),
    volume(gitRepo={"repository": "", "directory": "/x/.."}),
    volume(gcePersistentDisk={"pdName": "", "partition": 256}),
    volume(awsElasticBlockStore={"volumeID": "", "partition": -1}),
    volume(secret={"secretName": "", "defaultMode": 512, "items": [{"key": "", "path": "..x"}]}),
    volume(configMap={"name": "", "items": [{"key": "k", "path": "/x", "mode": -1}]}),
    volume(nfs={"server": "", "path": "x"}),
    volume(iscsi={"targetPortal": "", "iqn": "", "lun": 256, "chapAuthSession": True}),
    volume(iscsi={"targetPortal": "p", "iqn": "abc", "lun": 0, "initiatorName": "iqn.x"}),
    volume(glusterfs={"endpoints": "", "path": ""}),
    volume(flocker={}),
    volume(flocker={"datasetName": "a/b", "datasetUUID": "c"}),
    volume(persistentVolumeClaim={"claimName": ""}),
    volume(rbd={"monitors": [], "image": ""}),
    volume(cinder={"volumeID": "", "secretRef": {}}),
    volume(cephfs={"monitors": []}),
    volume(quobyte={"registry": "", "volume": ""}),
    volume(quobyte={"registry": "a,b:1", "volume": "x"}),
    volume(fc={}),
    volume(fc={"targetWWNs": ["a"], "wwids": ["b"], "lun": 300}),
    volume(flexVolume={"driver": "", "options": {"k8s.io/x": "y"}}),
    volume(azureFile={"secretName": "", "shareName": ""}),
    volume(azureDisk={"diskName": "", "diskURI": "x", "kind": "Managed", "cachingMode": "Often"}),
    volume(azureDisk={"diskName": "d", "diskURI": "x", "kind": "Other"}),
    volume(vsphereVolume={"volumePath": ""}),
    volume(photonPersistentDisk={"pdID": ""}),
    volume(portworxVolume={"volumeID": ""}),
    volume(scaleIO={"gateway": "", "system": "", "secretRef": {}}),
    volume(storageos={"volumeName": "A", "volumeNamespace": "B", "secretRef": {}}),
    volume(csi={"driver": ""}),
    volume(csi={"driver": "a_b", "nodePublishSecretRef": {"name": "A"}}),
    volume(ephemeral={}),
    volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x", "labels": {"a b": "c"}}, "spec": {}}}),
    volume(image={"reference": "", "pullPolicy": "Often"}),
    volume(
        downwardAPI={
            "items": [
                {"path": ""},
                {"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}},
                {"path": "b", "resourceFieldRef": {"resource": "limits.cpu"}},
            ]
        }
    ),
    volume(projected={"defaultMode": 1000, "sources": [{"secret": {"name": ""}, "configMap": {"name": "c"}}]}),
    volume(
        projected={
            "sources": [
                {"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}},
                {"configMap": {"name": "c", "items": [{"key": "a", "path": "p"}]}},
            ]
        }
    ),
    volume(projected={"sources": [{"serviceAccountToken": {"path": "", "expirationSeconds": 5}}]}),
    volume(projected={"sources": [{"serviceAccountToken": {"path": "../x", "expirationSeconds": 5_000_000_000}}]}),
    pod(
        volumes=[
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}},
            {"name": "f", "persistentVolumeClaim": {"claimName": "core-x-e"}},
        ]
    ),
]

SCHEDULING = [
    pod(nodeSelector={"a b": "c d"}),
    pod(nodeName="A"),
    pod(nodeName="n", schedulingGates=[{"name": "a"}]),
    pod(schedulingGates=[{"name": "a b"}, {"name": "c"}, {"name": "c"}]),
    pod(readinessGates=[{"conditionType": "a b"}]),
    pod(tolerations=[{"operator": "Equal"}]),
    pod(tolerations=[{"key": "a b", "operator": "Exists", "value": "x", "effect": "Never"}]),
    pod(tolerations=[{"key": "a", "value": "b c", "tolerationSeconds": 5, "effect": "NoSchedule"}]),
    pod(tolerations=[{"key": "a", "operator": "Near", "value": "b"}, {"key": "a", "operator": "Lt", "value": "5"}]),
    node_terms(),
    node_terms({"matchExpressions": [{"key": "a", "operator": "In"}]}),
    node_terms(
        {
            "matchExpressions": [
                {"key": "a", "operator": "Exists", "values": ["b"]},
                {"key": "a b", "operator": "Gt", "values": []},
            ]
        }
    ),
    node_terms({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b c"]}]}),
    node_terms(
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["A"]},
                {"key": "x", "operator": "Gt", "values": ["1"]},
                {"key": "metadata.name", "operator": "NotIn"},
            ]
        }
    ),
    pod(
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 0,
                        "preference": {"matchExpressions": [{"key": "", "operator": "In", "values": ["b c"]}]},
                    }
                ]
            }
        }
    ),
    near({"topologyKey": ""}),
    near(
        {"topologyKey": "a b", "labelSelector": {"matchLabels": {"a": "b c"}}, "namespaces": ["A"]}, "podAntiAffinity"
    ),
    near({"topologyKey": "z", "matchLabelKeys": ["a"]}),
    near(
        {
            "topologyKey": "z",
            "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]},
        }
    ),
    near({"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a b"], "mismatchLabelKeys": ["c d"]}),
    near({"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}),
    pod(
        affinity={
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 101, "podAffinityTerm": {"topologyKey": ""}}
                ]
            }
        }
    ),
    spread(maxSkew=0, topologyKey="", whenUnsatisfiable="Never"),
    spread(minDomains=0, whenUnsatisfiable="ScheduleAnyway"),
    spread(nodeAffinityPolicy="Maybe", nodeTaintsPolicy="Maybe"),
    spread(matchLabelKeys=["a"]),
    spread(matchLabelKeys=["a b"], labelSelector={"matchLabels": {"c": "d e"}}),
    pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2),
]

SPECS = [
    pod(restartPolicy="Maybe"),
    pod(dnsPolicy="Mine"),
    pod(dnsPolicy="None"),
    pod(dnsPolicy="None", dnsConfig={"searches": ["a"]}),
    pod(
        dnsConfig={
            "nameservers": ["1.2.3.4", "1.2.3", "::1", "010.1.1.1"],
            "searches": ["A", "."],
            "options": [{"value": "x"}],
        }
    ),
    pod(dnsConfig={"nameservers": ["::ffff:1.2.3.4"], "searches": ["a"] * 33}),
    pod(activeDeadlineSeconds=0),
    pod(hostname="A", subdomain="b.c"),
    pod(hostnameOverride="A_", setHostnameAsFQDN=True, hostNetwork=True),
    pod(hostAliases=[{"ip": "1.2.3", "hostnames": ["A"]}]),
    pod(hostUsers=False, hostNetwork=True, hostPID=True, hostIPC=True),
    pod(hostPID=True, shareProcessNamespace=True),
    pod(os={"name": ""}),
    pod(os={"name": "bsd"}),
    pod(os={"name": "linux"}, securityContext={"windowsOptions": {"runAsUserName": "u"}}),
    pod(
        os={"name": "windows"},
        hostPID=True,
        securityContext={"runAsUser": 5, "sysctls": [{"name": "a", "value": "b"}], "fsGroup": 3},
        containers=[{"name": "a", "image": "i", "securityContext": {"privileged": False, "procMount": "Default"}}],
    ),
    pod(securityContext={"runAsUser": -1, "runAsGroup": 2**31, "fsGroup": -5, "supplementalGroups": [1, -2]}),
    pod(
        securityContext={
            "fsGroupChangePolicy": "Often",
            "supplementalGroupsPolicy": "Some",
            "seLinuxChangePolicy": "None",
        }
    ),
    pod(securityContext={"seLinuxChangePolicy": "MountOption"}),
    pod(
        securityContext={
            "sysctls": [
                {"name": "A", "value": "x"},
                {"name": "", "value": "x"},
                {"name": "net.a", "value": "x"},
                {"name": "net.a", "value": "x"},
            ]
        }
    ),
    pod(
        hostNetwork=True,
        hostIPC=True,
        securityContext={"sysctls": [{"name": "net.core.x", "value": "1"}, {"name": "kernel/shmmax", "value": "1"}]},
    ),
    pod(securityContext={"seccompProfile": {"type": ""}, "appArmorProfile": {"type": "Mine"}}),
    pod(
        securityContext={
            "seccompProfile": {"type": "Localhost"},
            "appArmorProfile": {"type": "Localhost", "localhostProfile": " x"},
        }
    ),
    pod(
        securityContext={
            "seccompProfile": {"type": "Unconfined", "localhostProfile": "/x"},
            "appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "x"},
        }
    ),
    pod(
        securityContext={
            "windowsOptions": {"gmsaCredentialSpecName": "A", "gmsaCredentialSpec": "", "runAsUserName": "a\\b\\c"}
        }
    ),
    pod(securityContext={"windowsOptions": {"runAsUserName": "*\\..", "hostProcess": True}}),
    security(runAsUser=-1, procMount="Unmasked"),
    security(procMount="Mine"),
    security(privileged=True, allowPrivilegeEscalation=False),
    security(allowPrivilegeEscalation=False, capabilities={"add": ["CAP_SYS_ADMIN"]}, runAsNonRoot=True),
    security(seccompProfile={"type": "Mine"}, windowsOptions={"runAsUserName": ""}),
    {**pod(), "metadata": {"name": "core-x", "annotations": {"controller.kubernetes.io/pod-deletion-cost": "+5"}}},
    {
        **pod(),
        "metadata": {"name": "core-x", "annotations": {"container.apparmor.security.beta.kubernetes.io/z": "mine"}},
    },
    {**pod(), "metadata": {"name": "core-x", "annotations": {"seccomp.security.alpha.kubernetes.io/pod": "mine"}}},
    {
        **pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
        "metadata": {"name": "core-x", "annotations": {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}},
    },
    thing("PodTemplate", template={"metadata": {"labels": {"a b": "c"}}, "spec": {"containers": []}}),
]

OTHERS = [
    thing("Node", spec={"taints": [{"key": "a", "effect": ""}]}),
    thing(
        "Node",
        spec={
            "taints": [
                {"key": "a b", "value": "c d", "effect": "Never"},
                {"key": "x", "effect": "NoSchedule"},
                {"key": "x", "value": "y", "effect": "NoSchedule"},
            ]
        },
    ),
    thing("Node", status={"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1500m"}}),
    thing("Node", spec={"podCIDRs": ["10.0.0.1/24"], "podCIDR": "10.0.0.1/24"}),
    thing("Node", spec={"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}),
    thing("Node", spec={"podCIDR": "x", "podCIDRs": ["x"]}),
    thing("Namespace", spec={"finalizers": ["core", "a b/c"]}),
    thing("ConfigMap", data={"a b": "c"}),
    thing("ConfigMap", data={"..": "c"}),
    thing("ConfigMap", data={"..a": "c"}),
    thing("ConfigMap", data={"a": "b"}, binaryData={"a": "Yg=="}),
    thing("Secret", data={"a/b": "Yg=="}),
    thing("Secret", type="kubernetes.io/tls"),
    thing("Secret", type="kubernetes.io/basic-auth"),
    thing("Secret", type="kubernetes.io/ssh-auth"),
    thing("Secret", type="kubernetes.io/service-account-token"),
    thing("Secret", type="kubernetes.io/dockercfg"),
    thing("Secret", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "eA=="}),
    thing("Secret", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "W10="}),
    thing("ServiceAccount", "Core"),
    service(ports=[]),
    service(ports=[{"port": 0}]),
    service(ports=[{"port": 80}, {"port": 80, "name": "A"}]),
    service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "a", "protocol": "ICMP", "targetPort": "Bad_"}]),
    service(ports=[{"port": 80, "appProtocol": "a b", "targetPort": 70000}]),
    service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
    service(type="Mine"),
    service(type="ExternalName"),
    service(type="ExternalName", externalName="A_"),
    service(selector={"a b": "c"}),
    service(sessionAffinity="Cookie"),
    service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 0}}),
    service(clusterIP="None", clusterIPs=["None"], type="NodePort"),
    service(externalIPs=["1.2.3", "127.0.0.1", "0.0.0.0"]),
    service(externalTrafficPolicy="Local"),
    service(internalTrafficPolicy="Mine", trafficDistribution="Near"),
    service(loadBalancerSourceRanges=["10.0.0.0/33"]),
    service(type="LoadBalancer", loadBalancerSourceRanges=["10.0.0.1/24"], loadBalancerClass="a b"),
    service(allocateLoadBalancerNodePorts=True, loadBalancerClass="a/b"),
    subset(ports=[{"port": 0}]),
    subset(addresses=[{"ip": "x", "hostname": "A"}, {"ip": "127.0.0.1"}, {"ip": "169.254.1.1", "nodeName": "A"}]),
    subset(
        addresses=[{"ip": "1.2.3.4"}],
        ports=[{"port": 1}, {"port": 2, "name": "A", "protocol": "X", "appProtocol": "a b"}],
    ),
    persistent(),
    persistent(hostPath={"path": "/x"}, accessModes=[]),
    persistent(hostPath={"path": "/x"}, accessModes=["Often", "ReadWriteOncePod", "ReadWriteOnce"]),
    thing("PersistentVolume", spec={"hostPath": {"path": "/x"}}),
    persistent(hostPath={"path": "/x"}, capacity={"storage": "0"}),
    persistent(hostPath={"path": "/x"}, capacity={"storage": "1", "cpu": "1"}),
    persistent(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
    persistent(hostPath={"path": "/x"}, persistentVolumeReclaimPolicy="Keep", volumeMode="Tape", storageClassName="A"),
    persistent(hostPath={"path": "/x"}, nfs={"server": "s", "path": "/x"}),
    persistent(hostPath={"path": "/x"}, nodeAffinity={}),
    persistent(hostPath={"path": "/x"}, volumeAttributesClassName=""),
    persistent(local={"path": "/x"}),
    persistent(local={"path": ""}, nodeAffinity={"required": {"nodeSelectorTerms": []}}),
    persistent(csi={"driver": "", "volumeHandle": "", "nodePublishSecretRef": {"name": "A"}}),
    persistent(iscsi={"targetPortal": "p", "iqn": "eui.x", "lun": 1, "secretRef": {}}),
    persistent(glusterfs={"endpoints": "e", "path": "p", "endpointsNamespace": ""}),
    persistent(cinder={"volumeID": "v", "secretRef": {}}),
    claim(accessModes=[]),
    claim(accessModes=["Often"]),
    claim(accessModes=["ReadWriteOncePod", "ReadWriteMany"]),
    claim(resources={}),
    claim(resources={"requests": {"storage": "0"}}),
    claim(resources={"requests": {"storage": "-1"}}),
    claim(storageClassName="A", volumeMode="Tape"),
    claim(selector={"matchLabels": {"a b": "c"}}),
    claim(dataSourceRef={"kind": "X", "name": "y", "apiGroup": "A_"}),
    controller(replicas=-1, minReadySeconds=-1),
    controller(selector={"c": "d"}),
    controller(
        template={
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "a", "image": "i"}], "restartPolicy": "Never", "activeDeadlineSeconds": 5},
        }
    ),
    quota(hard={"disk": "1"}),
    quota(hard={"pods": "500m"}),
    quota(hard={"cpu": "-1"}),
    quota(scopes=["Mine"]),
    quota(scopes=["BestEffort", "NotBestEffort"]),
    quota(hard={"cpu": "1"}, scopes=["BestEffort"]),
    quota(scopeSelector={"matchExpressions": [{"scopeName": "Mine", "operator": "In"}]}),
    quota(scopeSelector={"matchExpressions": [{"scopeName": "BestEffort", "operator": "In", "values": ["a"]}]}),
    quota(
        hard={"secrets": "1"},
        scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}]},
    ),
    quota(
        scopeSelector={
            "matchExpressions": [
                {"scopeName": "Terminating", "operator": "Near"},
                {"scopeName": "NotTerminating", "operator": "Exists"},
            ]
        }
    ),
    limits(type=""),
    limits(type="Mine"),
    limits(type="Container", max={"disk": "1"}),
    limits(type="Container", min={"cpu": "2"}, max={"cpu": "1"}),
    limits(type="Container", min={"cpu": "2"}, default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
    limits(type="Container", max={"cpu": "1"}, default={"cpu": "2"}, defaultRequest={"cpu": "3"}),
    limits(type="Container", min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}),
    limits(type="Container", maxLimitRequestRatio={"cpu": "500m"}),
    limits(type="Container", default={"example.com/gpu": "2"}, defaultRequest={"example.com/gpu": "1"}),
    limits(type="Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
    limits(type="PersistentVolumeClaim", default={"storage": "1"}),
    thing("LimitRange", spec={"limits": [{"type": "Pod"}, {"type": "Pod"}]}),
]

WRONG = [*METADATA, *CONTAINERS, *PROBES, *RESOURCES, *VOLUMES, *SCHEDULING, *SPECS, *OTHERS]


def said(body: Object, resource: Resource, *, namespace: str = OWN_NAMESPACE) -> Status | None:
    """What our rules say of a new object."""
    obj = normalized(body, resource.api_version, resource.kind)
    defaults.apply(obj, resource.api_version, resource.kind)
    metadata = obj["metadata"]
    if resource.namespaced:
        metadata["namespace"] = namespace
    if "name" not in metadata:
        metadata["name"] = f"{metadata['generateName']}12345"
    metadata["uid"] = "00000000-0000-0000-0000-000000000001"
    strategies.prepare_create(obj, resource, now=NOW)
    problems = rules.created(obj, resource)
    return invalid_status(resource.kind, resource.group, metadata["name"], problems) if problems else None


def compared(status: Status) -> tuple[Any, ...]:
    # The end of a generated name is drawn anew each time.
    shown = re.compile(r"(?<=Core-)[a-z0-9]{5}")
    causes = [(cause.reason, shown.sub("", cause.message), cause.field) for cause in status.causes]
    return shown.sub("", status.message), status.reason, causes


def used(base: Object, name: str = "core-u") -> Object:
    return {**base, "metadata": {**base["metadata"], "name": name}}


POD = used(pod(activeDeadlineSeconds=100, tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={"a": "b"}))
PLAIN = used(pod(initContainers=[{"name": "b", "image": "i"}]))
TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
OTHER_TERM = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]}
GATED = used(
    pod(
        schedulingGates=[{"name": "g"}, {"name": "h"}],
        nodeSelector={"a": "b"},
        affinity=node_terms(TERM)["spec"]["affinity"],
    )
)
CLAIMING = used(pod(resourceClaims=[{"name": "x", "resourceClaimName": "c"}]))
SIZED = used(resources(limits={"cpu": "1"}, requests={"cpu": "1", "memory": "1Gi"}))
CONFIG = used(thing("ConfigMap", data={"a": "b"}))
FROZEN = used(thing("ConfigMap", data={"a": "b"}, immutable=True))
SECRET = used(thing("Secret", type="Opaque", data={"a": "Yg=="}))
FROZEN_SECRET = used(thing("Secret", data={"a": "Yg=="}, immutable=True))
ACCOUNT = used(thing("ServiceAccount"))
NODE = used(thing("Node", spec={"podCIDR": "10.9.0.0/24", "podCIDRs": ["10.9.0.0/24"], "providerID": "p"}))
SPACE = used(thing("Namespace"))
SERVICE = used(service())
BALANCED = used(service(type="LoadBalancer", loadBalancerClass="a/b", externalTrafficPolicy="Local"))
VOLUME = used(persistent(hostPath={"path": "/x"}, nodeAffinity={"required": {"nodeSelectorTerms": [TERM]}}))
CSI_VOLUME = used(
    persistent(csi={"driver": "d.example.com", "volumeHandle": "h", "volumeAttributes": {"b": "c", "a": "<"}})
)
RBD_VOLUME = used(persistent(rbd={"monitors": ["m"], "image": "i", "secretRef": {"name": "s", "namespace": "n"}}))
AZURE_VOLUME = used(persistent(azureFile={"secretName": "s", "shareName": "t", "secretNamespace": "n"}))
CLAIM = used(claim(storageClassName="none"))
QUOTA = used(quota(hard={"pods": "5"}, scopes=["BestEffort"]))
LIMITS = used(limits(type="Container", max={"cpu": "1"}))
ENDPOINTS = used(subset(addresses=[{"ip": "10.1.2.3"}]))
CONTROLLER = used(controller(replicas=0))
TEMPLATE = used(thing("PodTemplate", template={"spec": {"containers": [{"name": "a", "image": "i"}]}}))


def ephemeral(**fields: Any) -> Object:
    return {"spec": {"ephemeralContainers": [{"name": "e", "image": "i", **fields}]}}


def status(**fields: Any) -> Object:
    return {"status": fields}


def ended(name: str, state: str, **fields: Any) -> Object:
    return {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {state: fields}}


# A first state, what is changed of it, and by which subresource.
CHANGES: list[tuple[Object, Object, str]] = [
    (CONFIG, {"metadata": {"labels": {"a": "b c"}}}, ""),
    (CONFIG, {"metadata": {"annotations": {"a b": "c"}}}, ""),
    (CONFIG, {"metadata": {"finalizers": ["core"]}}, ""),
    (CONFIG, {"metadata": {"ownerReferences": [owner(kind="Event")]}}, ""),
    (CONFIG, {"metadata": {"generateName": "A%"}}, ""),
    (CONFIG, {"data": {"a b": "c"}}, ""),
    (FROZEN, {"data": {"a": "c"}}, ""),
    (FROZEN, {"immutable": None, "binaryData": {"c": "Yg=="}}, ""),
    (SECRET, {"type": "Other"}, ""),
    (SECRET, {"metadata": {"labels": {"a b": "c"}}, "data": {"a b": "Yg=="}}, ""),
    (FROZEN_SECRET, {"immutable": False, "data": {"a": "Yw=="}}, ""),
    (ACCOUNT, {"metadata": {"labels": {"a": "-"}}}, ""),
    (NODE, {"metadata": {"labels": {"a": "-"}}}, ""),
    (NODE, {"spec": {"podCIDR": "10.8.0.0/24", "podCIDRs": ["10.8.0.0/24"]}}, ""),
    (NODE, {"spec": {"podCIDR": None, "podCIDRs": None, "providerID": "q"}}, ""),
    (NODE, {"spec": {"taints": [{"key": "a b", "effect": "NoSchedule"}]}}, ""),
    (NODE, status(capacity={"pods": "-1"}), "status"),
    (NODE, status(addresses=[{"type": "InternalIP", "address": "1.2.3.4"}] * 2), "status"),
    (SPACE, {"metadata": {"labels": {"a": "-"}}}, ""),
    (SPACE, status(phase="Terminating"), "status"),
    (SPACE, {"spec": {"finalizers": ["core", "kubernetes"]}}, "finalize"),
    (SERVICE, {"spec": {"clusterIP": "10.96.200.200", "clusterIPs": ["10.96.200.200"]}}, ""),
    (SERVICE, {"spec": {"ports": [{"port": 0, "protocol": "TCP", "targetPort": 1}]}}, ""),
    (SERVICE, {"metadata": {"labels": {"a": "-"}}, "spec": {"selector": {"a": "-"}}}, ""),
    (SERVICE, status(loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}), "status"),
    (BALANCED, {"spec": {"loadBalancerClass": "c/d"}}, ""),
    (BALANCED, {"spec": {"healthCheckNodePort": 31999}}, ""),
    (
        BALANCED,
        status(loadBalancer={"ingress": [{"ip": "1.2.3", "ipMode": "Mine"}, {"hostname": "1.2.3.4"}]}),
        "status",
    ),
    (BALANCED, status(loadBalancer={"ingress": [{"ipMode": "VIP", "hostname": "A"}]}), "status"),
    (ENDPOINTS, {"subsets": [{"addresses": [{"ip": "127.0.0.1"}]}]}, ""),
    (ENDPOINTS, {"metadata": {"labels": {"a": "-"}}}, ""),
    (VOLUME, {"metadata": {"labels": {"a": "-"}}}, ""),
    (VOLUME, {"spec": {"hostPath": {"path": "/y"}}}, ""),
    (VOLUME, {"spec": {"hostPath": None, "nfs": {"server": "s", "path": "/x"}}}, ""),
    (VOLUME, {"spec": {"volumeMode": "Block"}}, ""),
    (VOLUME, {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [OTHER_TERM]}}}}, ""),
    (VOLUME, {"spec": {"accessModes": []}}, ""),
    (CSI_VOLUME, {"spec": {"csi": {"volumeHandle": "g", "nodePublishSecretRef": {"name": "s", "namespace": "n"}}}}, ""),
    (
        CSI_VOLUME,
        {"spec": {"csi": None, "local": {"path": "/x"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [TERM]}}}},
        "",
    ),
    (RBD_VOLUME, {"spec": {"rbd": {"secretRef": {"namespace": "o"}}}}, ""),
    (
        RBD_VOLUME,
        {"spec": {"rbd": None, "storageos": {"volumeName": "v", "secretRef": {"name": "s", "namespace": "n"}}}},
        "",
    ),
    (AZURE_VOLUME, {"spec": {"azureFile": {"secretNamespace": None}}}, ""),
    (
        AZURE_VOLUME,
        {"spec": {"azureFile": None, "glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "n"}}},
        "",
    ),
    (CLAIM, {"metadata": {"labels": {"a": "-"}}}, ""),
    (CLAIM, {"spec": {"accessModes": ["ReadWriteMany"]}}, ""),
    (CLAIM, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, ""),
    (CLAIM, {"spec": {"storageClassName": "other", "volumeMode": "Block"}}, ""),
    (CLAIM, {"spec": {"resources": {"requests": {"storage": "0"}}}}, ""),
    (CLAIM, status(capacity={"storage": "-1"}), "status"),
    (CLAIM, status(allocatedResources={"cpu": "1"}), "status"),
    (CLAIM, status(allocatedResourceStatuses={"storage": "Mine"}), "status"),
    (QUOTA, {"spec": {"scopes": ["NotBestEffort"]}}, ""),
    (QUOTA, {"spec": {"scopes": None, "hard": {"disk": "1"}}}, ""),
    (QUOTA, status(used={"pods": "500m"}), "status"),
    (LIMITS, {"metadata": {"labels": {"a": "-"}}, "spec": {"limits": [{"type": "Mine"}]}}, ""),
    (CONTROLLER, {"spec": {"replicas": -1, "selector": {"c": "d"}}}, ""),
    (CONTROLLER, {"metadata": {"labels": {"a": "-"}}}, ""),
    (CONTROLLER, status(replicas=1, readyReplicas=2, availableReplicas=3, fullyLabeledReplicas=-1), "status"),
    (TEMPLATE, {"template": {"spec": {"restartPolicy": "Maybe"}}}, ""),
    (POD, {"metadata": {"labels": {"a": "b c"}}}, ""),
    (POD, {"spec": {"nodeName": "n"}}, ""),
    (POD, {"spec": {"schedulerName": "other", "priority": 5}}, ""),
    (POD, {"spec": {"containers": [{"name": "a", "image": " j"}]}}, ""),
    (POD, {"spec": {"containers": [{"name": "a", "image": ""}]}}, ""),
    (POD, {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]}}, ""),
    (POD, {"spec": {"containers": [{"name": "a", "image": "j", "args": ["<x>"]}]}}, ""),
    (POD, {"spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}}, ""),
    (POD, {"spec": {"activeDeadlineSeconds": 200}}, ""),
    (POD, {"spec": {"activeDeadlineSeconds": None}}, ""),
    (POD, {"spec": {"activeDeadlineSeconds": -1}}, ""),
    (POD, {"spec": {"tolerations": []}}, ""),
    (POD, {"spec": {"terminationGracePeriodSeconds": 5}}, ""),
    (POD, {"spec": {"nodeSelector": {"c": "d"}}}, ""),
    (POD, {"spec": {"schedulingGates": [{"name": "new"}]}}, ""),
    (POD, {"spec": {"affinity": node_terms(TERM)["spec"]["affinity"]}}, ""),
    (POD, {"spec": {"volumes": None}}, ""),
    (POD, {"spec": {"restartPolicy": "Maybe", "hostNetwork": True, "dnsPolicy": "Default"}}, ""),
    (POD, {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}, ""),
    (POD, {"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/a": "mine"}}}, ""),
    (PLAIN, {"spec": {"initContainers": []}}, ""),
    (PLAIN, {"spec": {"initContainers": [{"name": "b", "image": "i", "env": [{"name": "A", "value": "b"}]}]}}, ""),
    (GATED, {"spec": {"nodeSelector": {"a": "c"}}}, ""),
    (GATED, {"spec": {"nodeSelector": {"a": None, "c": "d"}, "hostname": "h"}}, ""),
    (GATED, {"spec": {"schedulingGates": [{"name": "h"}, {"name": "i"}]}}, ""),
    (GATED, {"spec": {"affinity": node_terms(OTHER_TERM)["spec"]["affinity"]}}, ""),
    (GATED, {"spec": {"affinity": node_terms(TERM, OTHER_TERM)["spec"]["affinity"]}}, ""),
    (GATED, {"spec": {"affinity": None}}, ""),
    (GATED, {"spec": {"affinity": near({"topologyKey": "z"})["spec"]["affinity"]}}, ""),
    (POD, status(nominatedNodeName="A"), "status"),
    (POD, status(qosClass="Guaranteed"), "status"),
    (POD, status(conditions=[{"type": "a b", "status": "True"}]), "status"),
    (POD, status(observedGeneration=-1), "status"),
    (POD, status(podIPs=[{"ip": "1.2.3"}], podIP="1.2.3"), "status"),
    (POD, status(podIPs=[{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}], podIP="1.2.3.4"), "status"),
    (POD, status(hostIP="1.2.3.4", hostIPs=[{"ip": "1.2.3.5"}]), "status"),
    (POD, status(resourceClaimStatuses=[{"name": "x"}]), "status"),
    (
        POD,
        status(
            containerStatuses=[
                {**ended("a", "running"), "user": {"linux": {"uid": -1, "gid": -2, "supplementalGroups": [-3]}}}
            ]
        ),
        "status",
    ),
    (CLAIMING, status(resourceClaimStatuses=[{"name": "x", "resourceClaimName": "A"}, {"name": "x"}]), "status"),
    (POD, ephemeral(image=""), "ephemeralcontainers"),
    (POD, ephemeral(name="a", targetContainerName="z"), "ephemeralcontainers"),
    (POD, ephemeral(volumeMounts=[{"name": "v", "mountPath": "/x", "subPath": "y"}]), "ephemeralcontainers"),
    (SIZED, {"spec": {"containers": [{"name": "a", "image": "i"}]}}, "resize"),
    (
        SIZED,
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "i",
                        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2", "memory": "1Gi"}},
                    }
                ]
            }
        },
        "resize",
    ),
    (
        SIZED,
        {
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "i",
                        "resources": {
                            "limits": {"cpu": "1", "ephemeral-storage": "1"},
                            "requests": {"cpu": "1", "memory": "1Gi"},
                        },
                    }
                ]
            }
        },
        "resize",
    ),
    (
        SIZED,
        {
            "spec": {
                "containers": [
                    {
                        "name": "z",
                        "image": "i",
                        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1", "memory": "1Gi"}},
                    }
                ]
            }
        },
        "resize",
    ),
]


ONCE = used(pod(restartPolicy="Never", initContainers=[{"name": "b", "image": "i"}]))
AGAIN = used(pod(restartPolicy="OnFailure"))
BOUND = used(pod(nodeName="core-node"))
RULED = used(
    pod(
        restartPolicy="Never",
        containers=[
            {
                "name": "a",
                "image": "i",
                "restartPolicy": "Never",
                "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [5]}}],
            }
        ],
    )
)


def ended_with(code: int) -> Object:
    return status(containerStatuses=[ended("a", "terminated", exitCode=code)])


RUNNING = status(containerStatuses=[ended("a", "running")])

# The same, with a change that is made before.
LATER_CHANGES: list[tuple[Object, tuple[Object, str], Object, str]] = [
    (ONCE, (ended_with(1), "status"), RUNNING, "status"),
    (AGAIN, (ended_with(0), "status"), RUNNING, "status"),
    (
        AGAIN,
        (ended_with(1), "status"),
        {**RUNNING, "status": {**RUNNING["status"], "observedGeneration": -1}},
        "status",
    ),
    (RULED, (ended_with(4), "status"), RUNNING, "status"),
    (
        RULED,
        (ended_with(5), "status"),
        {**RUNNING, "status": {**RUNNING["status"], "observedGeneration": -1}},
        "status",
    ),
    (
        ONCE,
        (status(initContainerStatuses=[ended("b", "terminated", exitCode=1)]), "status"),
        status(initContainerStatuses=[ended("b", "waiting")]),
        "status",
    ),
    (BOUND, (status(phase="Pending"), "status"), status(nominatedNodeName="n"), "status"),
    (POD, (ephemeral(), "ephemeralcontainers"), {"spec": {"ephemeralContainers": []}}, "ephemeralcontainers"),
    (POD, (ephemeral(), "ephemeralcontainers"), ephemeral(image="j"), "ephemeralcontainers"),
    (
        CLAIM,
        (status(phase="Bound", capacity={"storage": "1Gi"}), "status"),
        {"spec": {"resources": {"requests": {"storage": "512Mi"}}}},
        "",
    ),
    (
        CLAIM,
        (status(phase="Bound", capacity={"storage": "1Gi"}), "status"),
        {"spec": {"volumeName": "v", "accessModes": ["ReadOnlyMany"]}},
        "",
    ),
]


def said_of_change(new: Object, old: Object, resource: Resource, subresource: str) -> Status | None:
    """What our rules say of an update; both states as they are sent and stored."""
    obj = normalized(new, resource.api_version, resource.kind)
    defaults.apply(obj, resource.api_version, resource.kind)
    strategies.prepare_update(obj, old, resource, now=NOW, subresource=subresource)
    problems = rules.updated(obj, old, resource, subresource)
    name = new["metadata"]["name"]
    return invalid_status(resource.kind, resource.group, name, problems) if problems else None


def place(resource: Resource) -> str | None:
    return OWN_NAMESPACE if resource.namespaced else None


def told(case: Any) -> str:
    return str(case)[:200]


@pytest.fixture(scope="module", autouse=True)
async def _namespace(shared_lab: RunningLab) -> AsyncIterator[None]:
    client = shared_lab.client
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN_NAMESPACE}})
    while True:
        with contextlib.suppress(ApiError):
            await client.get(SERVICE_ACCOUNTS, "default", namespace=OWN_NAMESPACE)
            break
    yield
    await client.delete(NAMESPACES, OWN_NAMESPACE)


@contextlib.asynccontextmanager
async def existing(client: Client, body: Object) -> AsyncIterator[Object]:
    """An object for the duration of a block; its name is its own, for deletion takes its time."""
    resource = for_object(body)
    named = copied(body)
    del named["metadata"]["name"]
    made = await client.create(resource, named | {"metadata": {"generateName": "core-u-"}}, namespace=place(resource))
    try:
        yield made
    finally:
        with contextlib.suppress(ApiError):
            await client.delete(resource, made["metadata"]["name"], namespace=place(resource), grace_s=0)


async def tried(
    client: Client, made: Object, change: Object, subresource: str, *, dry_run: bool = True
) -> tuple[Object, Object, Status | None]:
    """The state before, the one that was sent, and what the real server said of it."""
    resource = for_object(made)
    while True:
        old = await client.get(resource, made["metadata"]["name"], namespace=place(resource))
        new = apply_merge_patch(copied(old), change)
        try:
            await client.update(
                resource, new, namespace=place(resource), subresource=subresource or None, dry_run=dry_run
            )
        except ApiError as refused:
            # Controllers look at the object too.
            if not refused.is_conflict:
                return old, new, refused.status
        else:
            return old, new, None


@pytest.mark.parametrize("body", WRONG, ids=told)
async def test_a_wrong_object_is_refused_in_the_same_words(shared_lab: RunningLab, body: Object) -> None:
    resource = for_object(body)
    with pytest.raises(ApiError) as refused:
        await shared_lab.client.create(resource, body, namespace=place(resource), dry_run=True)
    ours = said(body, resource)
    assert ours is not None
    assert compared(ours) == compared(refused.value.status)


@pytest.mark.parametrize(("body", "change", "subresource"), CHANGES, ids=told)
async def test_a_wrong_update_is_refused_in_the_same_words(
    shared_lab: RunningLab, body: Object, change: Object, subresource: str
) -> None:
    async with existing(shared_lab.client, body) as made:
        old, new, refused = await tried(shared_lab.client, made, change, subresource)
    assert refused is not None
    ours = said_of_change(new, old, for_object(body), subresource)
    assert ours is not None
    assert compared(ours) == compared(refused)


@pytest.mark.parametrize(("body", "first", "change", "subresource"), LATER_CHANGES, ids=told)
async def test_a_wrong_update_of_what_has_changed_before_is_refused_in_the_same_words(
    shared_lab: RunningLab, body: Object, first: tuple[Object, str], change: Object, subresource: str
) -> None:
    async with existing(shared_lab.client, body) as made:
        _, _, refused = await tried(shared_lab.client, made, *first, dry_run=False)
        assert refused is None
        old, new, refused = await tried(shared_lab.client, made, change, subresource)
    assert refused is not None
    ours = said_of_change(new, old, for_object(body), subresource)
    assert ours is not None
    assert compared(ours) == compared(refused)


BINDINGS = [{}, {"kind": "Pod", "name": "n"}, {"kind": "Pod"}]


@pytest.mark.parametrize("target", BINDINGS, ids=told)
async def test_a_wrong_binding_is_refused_in_the_same_words(shared_lab: RunningLab, target: Object) -> None:
    async with existing(shared_lab.client, PLAIN) as made:
        name = made["metadata"]["name"]
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        with pytest.raises(ApiError) as refused:
            await shared_lab.client.create(
                PODS, binding, namespace=OWN_NAMESPACE, name=name, subresource="binding", dry_run=True
            )
    # The server tells the problems, but not that the binding was invalid.
    texts = [f"{problem.field}: {problem.message}" for problem in pods.binding_problems(binding)]
    assert refused.value.message == (texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
