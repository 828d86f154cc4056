"""Pods: what is filled in, what admission adds, what is refused."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import container, edited, of, pod, priority_class, with_meta, with_resources

from kubedyno.kube.resources import PODS


@behaviour
async def defaults_are_filled_in(api: Api) -> None:
    answer = await api.create(
        of("v1", "Pod", "pod", spec={"containers": [{"name": "a", "image": "i"}], "nodeName": "x"})
    )
    assert answer["spec"]["restartPolicy"] == "Always"
    assert answer["spec"]["dnsPolicy"] == "ClusterFirst"


@behaviour
async def defaults_of_ports_probes_and_volumes(api: Api) -> None:
    probe = {"httpGet": {"path": "/"}, "periodSeconds": 3}
    answer = await api.create(
        pod(
            containers=[
                container(
                    ports=[{"containerPort": 80}],
                    livenessProbe=edited(probe, "httpGet/port", 80),
                    readinessProbe={"grpc": {"port": 90}},
                    env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    volumeMounts=[{"name": "v", "mountPath": "/v"}],
                )
            ],
            volumes=[
                {"name": "v"},
                {"name": "c", "configMap": {"name": "c"}},
                {"name": "s", "secret": {"secretName": "s"}},
                {"name": "h", "hostPath": {"path": "/h"}},
                {"name": "d", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ],
        )
    )
    assert answer["spec"]["volumes"][0] == {"name": "v", "emptyDir": {}}


@behaviour
async def an_image_without_a_tag_is_always_pulled(api: Api) -> None:
    images = ("app", "app:latest", "app:1", "app@sha256:" + "0" * 64)
    answer = await api.create(pod(containers=[container(f"c{at}", image=image) for at, image in enumerate(images)]))
    assert [item["imagePullPolicy"] for item in answer["spec"]["containers"]] == [
        "Always",
        "Always",
        "IfNotPresent",
        "IfNotPresent",
    ]


@behaviour
async def a_token_volume_is_mounted(api: Api) -> None:
    answer = await api.create(pod(automountServiceAccountToken=None))
    assert answer["spec"]["volumes"][0]["name"].startswith("kube-api-access-")


@behaviour
async def a_service_account_that_is_not_there_is_told_of(api: Api) -> None:
    answer = await api.create(pod(serviceAccountName="nobody"))
    assert (answer.code, answer.reason) == (403, "Forbidden")


@behaviour
async def the_old_name_of_the_service_account_is_kept_in_step(api: Api) -> None:
    await api.create(of("v1", "ServiceAccount", "robot"))
    await api.admitted(pod(serviceAccountName="robot"))
    answer = await api.create(pod(serviceAccount="robot"))
    assert answer["spec"]["serviceAccountName"] == "robot"


@behaviour
async def secrets_to_pull_images_come_from_the_account(api: Api) -> None:
    await api.create(of("v1", "ServiceAccount", "robot", imagePullSecrets=[{"name": "key"}]))
    answer = await api.create(pod(serviceAccountName="robot"))
    assert answer["spec"]["imagePullSecrets"] == [{"name": "key"}]


@behaviour
async def an_account_may_decline_the_token(api: Api) -> None:
    await api.create(of("v1", "ServiceAccount", "robot", automountServiceAccountToken=False))
    answer = await api.create(pod(serviceAccountName="robot", automountServiceAccountToken=None))
    assert "volumes" not in answer["spec"]


@behaviour
async def tolerations_of_lost_nodes_are_added(api: Api) -> None:
    answer = await api.create(pod())
    assert [item["tolerationSeconds"] for item in answer["spec"]["tolerations"]] == [300, 300]


@behaviour
async def tolerations_of_lost_nodes_that_are_there_are_kept(api: Api) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    answer = await api.create(pod(tolerations=[own]))
    assert answer["spec"]["tolerations"][0] == own
    assert len(answer["spec"]["tolerations"]) == 2


@behaviour
async def limits_become_requests(api: Api) -> None:
    answer = await api.create(with_resources({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}))
    assert answer["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


@behaviour
async def without_resources_it_is_best_effort(api: Api) -> None:
    assert (await api.create(pod()))["status"]["qosClass"] == "BestEffort"


@behaviour
async def with_equal_limits_it_is_guaranteed(api: Api) -> None:
    answer = await api.create(with_resources({}, {"cpu": "1", "memory": "1Gi"}))
    assert answer["status"]["qosClass"] == "Guaranteed"


@behaviour
async def with_some_requests_it_is_burstable(api: Api) -> None:
    answer = await api.create(with_resources({"cpu": "100m"}))
    assert answer["status"]["qosClass"] == "Burstable"


@behaviour
async def quantities_are_written_in_their_shortest_form(api: Api) -> None:
    requests = {"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3", "hugepages-2Mi": "4Mi"}
    answer = await api.create(with_resources(requests, {"hugepages-2Mi": "4Mi", "cpu": "0.5e1"}))
    assert answer["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "1"


@behaviour
async def fractions_of_a_byte_are_warned_of(api: Api) -> None:
    answer = await api.create(with_resources({"memory": "1500m"}))
    assert answer.warnings


@behaviour
async def resources_of_the_whole_pod(api: Api) -> None:
    answer = await api.create(pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2", "memory": "1Gi"}}))
    assert answer["status"]["qosClass"] == "Guaranteed"


@behaviour
async def topology_spread_gets_its_policies(api: Api) -> None:
    good = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    answer = await api.create(pod(topologySpreadConstraints=[good]))
    assert answer.code == 201


@behaviour
async def scheduling_gates_make_a_condition(api: Api) -> None:
    answer = await api.create(pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert [item["reason"] for item in answer["status"]["conditions"]] == ["SchedulingGated"]


@behaviour
async def the_status_of_a_new_pod_is_the_server_s(api: Api) -> None:
    answer = await api.create({**pod(), "status": {"phase": "Running", "podIP": "10.0.0.1"}})
    assert answer["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@behaviour
async def the_priority_comes_from_the_class(api: Api) -> None:
    await api.create(priority_class(api.own("high"), 1000, preemptionPolicy="Never"))
    await api.admitted(pod(priorityClassName=api.own("high")))
    answer = await api.create(pod(priorityClassName=api.own("high")))
    assert (answer["spec"]["priority"], answer["spec"]["preemptionPolicy"]) == (1000, "Never")


@behaviour
async def a_class_that_is_not_there_is_told_of(api: Api) -> None:
    answer = await api.create(pod(priorityClassName="nobody"))
    assert (answer.code, answer.reason) == (403, "Forbidden")


@behaviour
async def a_priority_must_be_that_of_the_class(api: Api) -> None:
    await api.create(priority_class(api.own("high"), 1000))
    await api.admitted(pod(priorityClassName=api.own("high")))
    answer = await api.create(pod(priorityClassName=api.own("high"), priority=5))
    assert answer.code == 403


@behaviour
async def a_priority_of_one_s_own_is_refused(api: Api) -> None:
    answer = await api.create(pod(priority=5))
    assert answer.code == 403


@behaviour
async def the_classes_of_the_system_are_there(api: Api) -> None:
    answer = await api.create(pod(priorityClassName="system-node-critical"))
    assert answer["spec"]["priority"] == 2000001000


@behaviour
async def claims_of_devices_are_kept(api: Api) -> None:
    claims = [{"name": "gpu", "resourceClaimName": "mine"}]
    answer = await api.create(
        pod(resourceClaims=claims, containers=[container(resources={"claims": [{"name": "gpu", "request": "one"}]})])
    )
    assert answer["spec"]["resourceClaims"] == claims


@behaviour
async def names_that_are_no_host_names_are_warned_of(api: Api) -> None:
    answer = await api.create(pod("a.b"))
    assert answer.warnings


@behaviour
async def old_annotations_are_warned_of(api: Api) -> None:
    seccomp = {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}
    answer = await api.create(with_meta(pod(), annotations=seccomp))
    assert answer.warnings


@behaviour
async def init_containers_may_go_on_running(api: Api) -> None:
    answer = await api.create(pod(initContainers=[container("side", restartPolicy="Always")]))
    assert answer["spec"]["initContainers"][0]["restartPolicy"] == "Always"


@behaviour
async def host_network_copies_ports(api: Api) -> None:
    answer = await api.create(pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])]))
    assert answer["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


@behaviour
async def conditions_of_a_status_are_stored_as_given(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    status = {
        "phase": "Running",
        "podIP": "10.1.2.3",
        "podIPs": [{"ip": "10.1.2.3"}],
        "startTime": "2021-01-01T00:00:00Z",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2021-01-01T00:00:00Z"}],
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 0,
                "image": "i",
                "imageID": "",
                "started": True,
                "state": {"running": {"startedAt": "2021-01-01T00:00:00Z"}},
            }
        ],
    }
    answer = await api.strategic(PODS, "pod", {"status": status}, "status")
    assert answer.code == 200
    assert answer["status"]["podIP"] == "10.1.2.3"


@behaviour
async def ephemeral_containers_come_by_their_endpoint(api: Api) -> None:
    await api.create(pod())
    extra = [{"name": "debug", "image": "i:1"}]
    refused = await api.strategic(PODS, "pod", {"spec": {"ephemeralContainers": extra}})
    assert refused.code == 422
    answer = await api.strategic(PODS, "pod", {"spec": {"ephemeralContainers": extra}}, "ephemeralcontainers")
    assert [item["name"] for item in answer["spec"]["ephemeralContainers"]] == ["debug"]


@behaviour
async def a_pod_on_a_node_that_is_not_there_cannot_be_resized(api: Api) -> None:
    await api.create(with_resources({"cpu": "1"}, nodeName="here"))
    patch = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}
    answer = await api.strategic(PODS, "pod", patch, "resize")
    assert answer.code == 403
