"""Pods that are refused: resources, names, placement, volumes."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import container, pod, with_resources

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS


@behaviour
async def extended_resources_need_equal_limits(api: Api) -> None:
    answer = await api.create(with_resources({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}))
    assert answer.code == 422


@behaviour
async def extended_resources_need_limits(api: Api) -> None:
    answer = await api.create(with_resources({"nvidia.com/gpu": "1"}))
    assert answer.code == 422


@behaviour
async def extended_resources_are_whole(api: Api) -> None:
    answer = await api.create(with_resources({}, {"nvidia.com/gpu": "500m"}))
    assert answer.code == 422


@behaviour
async def resources_need_known_names(api: Api) -> None:
    answer = await api.create(with_resources({"gpu": "1"}))
    assert answer.code == 422


@behaviour
async def requests_must_not_exceed_limits(api: Api) -> None:
    answer = await api.create(with_resources({"cpu": "2"}, {"cpu": "1"}))
    assert answer.causes == ["spec.containers[0].resources.requests"]


@behaviour
async def resources_must_not_be_negative(api: Api) -> None:
    answer = await api.create(with_resources({"memory": "-1"}))
    assert answer.code == 422


@behaviour
async def a_pod_needs_containers(api: Api) -> None:
    answer = await api.create(pod(containers=[]))
    assert answer.causes == ["spec.containers"]


@behaviour
async def containers_need_names_and_images(api: Api) -> None:
    answer = await api.create(pod(containers=[{}]))
    assert answer.causes == ["spec.containers[0].name", "spec.containers[0].image"]


@behaviour
async def names_of_containers_are_labels_and_unique(api: Api) -> None:
    answer = await api.create(pod(containers=[container("a"), container("a"), container("Not_Good")]))
    assert answer.causes == ["spec.containers[1].name", "spec.containers[2].name"]


@behaviour
async def ports_are_checked(api: Api) -> None:
    ports = [{"containerPort": 70000}, {"containerPort": 80, "protocol": "ICMP"}, {"name": "TOO-LONG-A-NAME-FOR-IT"}]
    answer = await api.create(pod(containers=[container(ports=ports)]))
    assert answer.code == 422


@behaviour
async def enumerations_are_checked(api: Api) -> None:
    answer = await api.create(pod(restartPolicy="Sometimes", dnsPolicy="Never"))
    assert answer.causes == ["spec.restartPolicy", "spec.dnsPolicy"]


@behaviour
async def tolerations_are_checked(api: Api) -> None:
    bad = [
        {"operator": "Equal", "value": "x"},
        {"key": "a", "operator": "Exists", "value": "x"},
        {"key": "a", "effect": "Never"},
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3},
        {"key": "not good", "operator": "Exists"},
    ]
    answer = await api.create(pod(tolerations=bad))
    assert answer.code == 422


@behaviour
async def node_affinity_is_checked(api: Api) -> None:
    terms = [
        {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Gt", "values": ["x", "y"]}]}
    ]
    required = {"nodeSelectorTerms": terms}
    answer = await api.create(
        pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
    )
    assert answer.code == 422


@behaviour
async def node_affinity_needs_terms(api: Api) -> None:
    required: Object = {"nodeSelectorTerms": []}
    answer = await api.create(
        pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
    )
    assert answer.code == 422


@behaviour
async def pod_affinity_needs_a_topology(api: Api) -> None:
    term = {"labelSelector": {"matchLabels": {"a": "b"}}}
    answer = await api.create(
        pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})
    )
    assert answer.code == 422


@behaviour
async def weights_have_bounds(api: Api) -> None:
    term = {"weight": 101, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    answer = await api.create(
        pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}})
    )
    assert answer.code == 422


@behaviour
async def topology_spread_is_checked(api: Api) -> None:
    bad = [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Perhaps"}]
    answer = await api.create(pod(topologySpreadConstraints=bad))
    assert answer.code == 422


@behaviour
async def gated_pods_have_no_node(api: Api) -> None:
    answer = await api.create(pod(schedulingGates=[{"name": "example.com/wait"}], nodeName="x"))
    assert answer.code == 422


@behaviour
async def gates_are_unique_and_qualified(api: Api) -> None:
    answer = await api.create(pod(schedulingGates=[{"name": "a"}, {"name": "a"}, {"name": "not good"}]))
    assert answer.code == 422


@behaviour
async def a_hostname_is_a_label(api: Api) -> None:
    answer = await api.create(pod(hostname="Not_Good", subdomain="Not_Good"))
    assert answer.causes == ["spec.hostname", "spec.subdomain"]


@behaviour
async def mounts_need_their_volumes(api: Api) -> None:
    answer = await api.create(pod(containers=[container(volumeMounts=[{"name": "none", "mountPath": "/x"}])]))
    assert answer.causes == ["spec.containers[0].volumeMounts[0].name"]


@behaviour
async def a_volume_has_one_source(api: Api) -> None:
    answer = await api.create(pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]))
    assert answer.code == 422


@behaviour
async def claims_of_devices_need_their_names(api: Api) -> None:
    answer = await api.create(pod(containers=[container(resources={"claims": [{"name": "gpu"}]})]))
    assert answer.code == 422


@behaviour
async def claims_of_devices_have_one_source(api: Api) -> None:
    claims = [{"name": "a"}, {"name": "b", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}]
    answer = await api.create(pod(resourceClaims=claims))
    assert answer.code == 422


@behaviour
async def grace_of_a_pod_is_not_negative(api: Api) -> None:
    answer = await api.create(pod(terminationGracePeriodSeconds=-5, activeDeadlineSeconds=0))
    assert answer.code == 422


@behaviour
async def a_probe_has_one_handler(api: Api) -> None:
    probe = {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}, "timeoutSeconds": -1}
    answer = await api.create(pod(containers=[container(livenessProbe=probe)]))
    assert answer.code == 422


@behaviour
async def a_bad_status_is_refused(api: Api) -> None:
    await api.create(pod())
    answer = await api.merge(PODS, "pod", {"status": {"nominatedNodeName": "Not_Good"}}, "status")
    assert answer.code == 422
