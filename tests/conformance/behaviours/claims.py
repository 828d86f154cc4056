"""Devices: claims, templates, slices and classes, in both versions that are served."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import CLAIM_REQUEST, claim, edited, of, resource_slice, with_meta

from kubedyno.kube.resources import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES, by_kind

BETA = "resource.k8s.io/v1beta2"
BETA_CLAIMS = by_kind(BETA, "ResourceClaim")
BETA_SLICES = by_kind(BETA, "ResourceSlice")
CLASS = "gpu.example.com"
RESULT = {"request": "gpu", "driver": CLASS, "pool": "pool", "device": "gpu-0"}
ALLOCATED = {"devices": {"results": [RESULT]}}


@behaviour
async def a_claim_gets_its_defaults(api: Api) -> None:
    answer = await api.create(claim())
    exactly = answer["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)


@behaviour
async def a_claim_cannot_change(api: Api) -> None:
    made = await api.create(claim())
    answer = await api.replace(edited(made.body, "spec/devices/requests/0/exactly/count", 2))
    assert answer.causes == ["spec"]


@behaviour
async def a_status_given_at_creation_is_dropped(api: Api) -> None:
    answer = await api.create({**claim(), "status": {"allocation": ALLOCATED}})
    assert answer["status"] == {}


@behaviour
async def a_claim_is_allocated_in_its_status(api: Api) -> None:
    made = await api.create(with_meta(claim(), finalizers=["resource.kubernetes.io/delete-protection"]))
    answer = await api.replace(edited(made.body, "status", {"allocation": ALLOCATED}), "status")
    assert answer["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"


@behaviour
async def an_allocation_cannot_change(api: Api) -> None:
    await api.create(claim())
    first = await api.merge(RESOURCE_CLAIMS, "claim", {"status": {"allocation": ALLOCATED}}, "status")
    assert first.code == 200
    other = {"devices": {"results": [{**RESULT, "device": "gpu-1"}]}}
    answer = await api.merge(RESOURCE_CLAIMS, "claim", {"status": {"allocation": other}}, "status")
    assert answer.code == 422


@behaviour
async def a_reservation_needs_an_allocation(api: Api) -> None:
    await api.create(claim())
    user = {"resource": "pods", "name": "pod", "uid": "11111111-1111-4111-8111-111111111111"}
    answer = await api.merge(RESOURCE_CLAIMS, "claim", {"status": {"reservedFor": [user]}}, "status")
    assert answer.code == 422


@behaviour
async def a_claim_is_reserved_for_pods(api: Api) -> None:
    await api.create(claim())
    user = {"resource": "pods", "name": "pod", "uid": "11111111-1111-4111-8111-111111111111"}
    status = {"allocation": ALLOCATED, "reservedFor": [user]}
    answer = await api.merge(RESOURCE_CLAIMS, "claim", {"status": status}, "status", recorded=False)
    assert answer["status"]["reservedFor"] == [user]


@behaviour
async def a_result_names_a_request(api: Api) -> None:
    await api.create(claim())
    wrong = {"devices": {"results": [{**RESULT, "request": "none"}]}}
    answer = await api.merge(RESOURCE_CLAIMS, "claim", {"status": {"allocation": wrong}}, "status")
    assert answer.code == 422


@behaviour
async def the_status_of_a_claim_leaves_its_spec(api: Api) -> None:
    made = await api.create(claim())
    body = edited(edited(made.body, "spec/devices/requests/0/exactly/count", 5), "status/allocation", ALLOCATED)
    answer = await api.replace(body, "status")
    assert answer["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1


@behaviour
async def requests_need_names_and_classes(api: Api) -> None:
    answer = await api.create(claim(requests=[{"name": "a", "exactly": {}}, {"exactly": {"deviceClassName": CLASS}}]))
    assert answer.code == 422


@behaviour
async def names_of_requests_are_unique(api: Api) -> None:
    answer = await api.create(claim(requests=[CLAIM_REQUEST, CLAIM_REQUEST]))
    assert answer.code == 422


@behaviour
async def a_request_is_one_of_two(api: Api) -> None:
    answer = await api.create(claim(requests=[{"name": "a"}]))
    assert answer.code == 422


@behaviour
async def all_devices_take_no_count(api: Api) -> None:
    exactly = {"deviceClassName": CLASS, "allocationMode": "All", "count": 2}
    answer = await api.create(claim(requests=[{"name": "a", "exactly": exactly}]))
    assert answer.code == 422


@behaviour
async def alternatives_are_kept_in_order(api: Api) -> None:
    first = [{"name": "big", "deviceClassName": CLASS}, {"name": "small", "deviceClassName": CLASS, "count": 2}]
    answer = await api.create(claim(requests=[{"name": "a", "firstAvailable": first}]))
    assert [item["name"] for item in answer["spec"]["devices"]["requests"][0]["firstAvailable"]] == ["big", "small"]


@behaviour(differs="expressions")
async def a_selector_is_an_expression(api: Api) -> None:
    selectors = [{"cel": {"expression": "device.driver =="}}]
    exactly = {"deviceClassName": CLASS, "selectors": selectors}
    answer = await api.create(claim(requests=[{"name": "a", "exactly": exactly}]), recorded=False)
    api.note("fields", answer.causes)
    assert answer.causes == ["spec.devices.requests[0].exactly.selectors[0].cel.expression"]


@behaviour
async def constraints_name_requests(api: Api) -> None:
    constraints = [{"requests": ["none"], "matchAttribute": "gpu.example.com/numa"}]
    answer = await api.create(claim(constraints=constraints))
    assert answer.code == 422


@behaviour
async def configurations_name_requests(api: Api) -> None:
    config = [{"requests": ["none"], "opaque": {"driver": CLASS, "parameters": {"a": 1}}}]
    answer = await api.create(claim(config=config))
    assert answer.code == 422


@behaviour
async def parameters_of_a_driver_are_kept_as_they_are(api: Api) -> None:
    parameters = {"kind": "Config", "apiVersion": "gpu.example.com/v1", "nested": {"list": [1, {"b": None}]}}
    config = [{"opaque": {"driver": CLASS, "parameters": parameters}}]
    answer = await api.create(claim(config=config))
    assert answer["spec"]["devices"]["config"][0]["opaque"]["parameters"] == parameters


@behaviour
async def one_version_is_read_as_the_other(api: Api) -> None:
    await api.create(claim())
    answer = await api.get(BETA_CLAIMS, "claim")
    assert answer["apiVersion"] == BETA


@behaviour
async def one_version_is_written_and_the_other_listed(api: Api) -> None:
    await api.create(claim(api_version=BETA))
    answer = await api.list(RESOURCE_CLAIMS)
    assert answer["apiVersion"] == "resource.k8s.io/v1"
    assert answer.names == ["claim"]


@behaviour
async def a_watch_of_one_version_tells_of_the_other(api: Api) -> None:
    made = await api.create(claim("first"))
    async with api.watch(BETA_CLAIMS, resourceVersion=made.version) as watch:
        await api.create(claim("second"))
        (frame,) = await watch.next()
    assert (frame.object["apiVersion"], frame.name) == (BETA, "second")


@behaviour
async def managed_fields_keep_the_version_they_were_written_in(api: Api) -> None:
    await api.create(claim(api_version=BETA), fieldManager="alice")
    answer = await api.get(RESOURCE_CLAIMS, "claim")
    assert answer.meta["managedFields"][0]["apiVersion"] == BETA


@behaviour
async def a_version_that_is_off_is_not_served(api: Api) -> None:
    answer = await api.send("GET", "/apis/resource.k8s.io/v1beta1/deviceclasses")
    assert answer.code == 404


@behaviour
async def a_template_holds_a_claim(api: Api) -> None:
    body = of("resource.k8s.io/v1", "ResourceClaimTemplate", "template", spec={"spec": claim()["spec"]})
    answer = await api.create(body)
    assert answer["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
    fixed = await api.replace(edited(answer.body, "spec/spec/devices/requests/0/exactly/count", 2))
    assert fixed.code == 422


@behaviour
async def a_class_of_devices_is_stored(api: Api) -> None:
    spec = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]}
    answer = await api.create(of("resource.k8s.io/v1", "DeviceClass", api.own("class"), spec=spec))
    assert answer.code == 201
    assert answer.meta["generation"] == 1
    again = await api.merge(DEVICE_CLASSES, api.own("class"), {"spec": {"extendedResourceName": "example.com/gpu"}})
    assert again.meta["generation"] == 2


@behaviour
async def a_slice_is_stored(api: Api) -> None:
    device = {"name": "gpu-0", "attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "80Gi"}}}
    answer = await api.create(resource_slice(api.own("slice"), device))
    assert answer.code == 201


@behaviour
async def a_slice_is_read_in_the_other_version(api: Api) -> None:
    await api.create(resource_slice(api.own("slice"), {"name": "gpu-0", "attributes": {"n": {"int": 1}}}))
    answer = await api.get(BETA_SLICES, api.own("slice"))
    assert answer["spec"]["devices"][0]["attributes"] == {"n": {"int": 1}}


@behaviour
async def devices_of_a_slice_are_unique_and_well_named(api: Api) -> None:
    answer = await api.create(resource_slice(api.own("slice"), {"name": "a"}, {"name": "a"}, {"name": "Not_Good"}))
    assert answer.code == 422


@behaviour
async def a_slice_says_where_in_one_way(api: Api) -> None:
    answer = await api.create(resource_slice(api.own("slice"), nodeName="node"))
    assert answer.code == 422
    none = await api.create(resource_slice(api.own("slice"), allNodes=None))
    assert none.code == 422


@behaviour
async def a_slice_holds_so_many_devices(api: Api) -> None:
    devices = [{"name": f"gpu-{number}"} for number in range(129)]
    answer = await api.create(resource_slice(api.own("slice"), *devices))
    assert answer.code == 422


@behaviour
async def an_attribute_has_one_type(api: Api) -> None:
    attributes = {"both": {"int": 1, "string": "a"}}
    answer = await api.create(resource_slice(api.own("slice"), {"name": "a", "attributes": attributes}))
    assert answer.code == 422
    version = await api.create(resource_slice(api.own("slice"), {"name": "a", "attributes": {"v": {"version": "x"}}}))
    assert version.code == 422


@behaviour
async def a_slice_moves_neither_node_nor_driver(api: Api) -> None:
    made = await api.create(resource_slice(api.own("slice"), {"name": "a"}))
    answer = await api.replace(edited(made.body, "spec/driver", "other.example.com"))
    assert answer.code == 422


@behaviour
async def slices_are_selected_by_driver_and_node(api: Api) -> None:
    name = api.own("node")
    await api.create(resource_slice(api.own("slice"), {"name": "a"}, allNodes=None, nodeName=name))
    answer = await api.list(RESOURCE_SLICES, fieldSelector=f"spec.nodeName={name},spec.driver={CLASS}")
    assert answer.names == [api.own("slice")]


@behaviour
async def a_taint_of_a_device_gets_its_time(api: Api) -> None:
    taint = {"key": "example.com/broken", "effect": "NoExecute"}
    answer = await api.create(resource_slice(api.own("slice"), {"name": "a", "taints": [taint]}))
    assert answer.code == 201


@behaviour
async def partitions_share_counters(api: Api) -> None:
    shared = [{"name": "set", "counters": {"memory": {"value": "80Gi"}}}]
    answer = await api.create(resource_slice(api.own("slice"), sharedCounters=shared, devices=None))
    assert answer.code == 201
