from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.selectors import label_key_problem, label_value_problem
from kubedyno.sim import hardware

pytestmark = pytest.mark.unit

ALL = sorted(hardware.catalogue())


def test_the_catalogue_has_the_usual_gpus() -> None:
    assert {"H100", "H200", "B200", "GB200-NVL72", "A100", "L40S", "T4"} <= set(ALL)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("H100", "H100"),
        ("h100", "H100"),
        ("GB200 NVL72", "GB200-NVL72"),
        ("gb200", "GB200-NVL72"),
        ("NVIDIA-H200", "H200"),
        ("a100-sxm4-40gb", "A100-40GB"),
        ("tesla_t4", "T4"),
    ],
)
def test_a_gpu_is_found_however_it_is_written(written: str, name: str) -> None:
    assert hardware.gpu(written).name == name


@pytest.mark.parametrize(
    ("written", "nearest"), [("H10", "H100"), ("B2000", "B200"), ("L40", "L40S"), ("gb20", "GB200-NVL72")]
)
def test_an_unknown_name_is_told_with_the_nearest(written: str, nearest: str) -> None:
    with pytest.raises(hardware.UnknownGpu, match=rf"unknown GPU '{written}': did you mean {nearest}\?"):
        hardware.gpu(written)


def test_a_name_like_no_other_is_told_with_the_whole_catalogue() -> None:
    with pytest.raises(
        hardware.UnknownGpu, match=r"unknown GPU 'zzzz': The catalogue has A100, .*T4; others are `custom`"
    ):
        hardware.gpu("zzzz")


@pytest.mark.parametrize("name", ALL)
def test_every_server_has_a_place_for_every_gpu(name: str) -> None:
    server = hardware.gpu(name).server
    assert len(set(server.buses)) == server.gpus
    for root, numa in zip(server.roots, server.numa, strict=True):
        assert {numa} == {at for other, at in zip(server.roots, server.numa, strict=True) if other == root}


@pytest.mark.parametrize("name", ALL)
def test_every_mig_profile_fits_as_often_as_it_says(name: str) -> None:
    gpu = hardware.gpu(name)
    for profile in gpu.mig:
        places = hardware.placed(gpu, {profile.name: profile.count})
        assert len({start for _, start in places}) == profile.count
        with pytest.raises(UsageError, match=f"at most {profile.count} of MIG profile"):
            hardware.placed(gpu, {profile.name: profile.count + 1})


@pytest.mark.parametrize(
    ("layout", "starts"),
    [
        ({"3g.40gb": 2}, [0, 4]),
        ({"4g.40gb": 1, "3g.40gb": 1}, [0, 4]),
        ({"3g.40gb": 1, "2g.20gb": 1, "1g.10gb": 2}, [0, 2, 3, 4]),
        ({"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, [0, 2, 3, 4]),
        ({"7g.80gb": 1}, [0]),
        ({}, []),
    ],
)
def test_partitions_that_fit_are_placed(layout: dict[str, int], starts: list[int]) -> None:
    placed = hardware.placed(hardware.gpu("H100"), layout)
    assert sorted(start for _, start in placed) == starts
    taken = [number for profile, start in placed for number in range(start, start + profile.size)]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ({"3g.40gb": 2, "1g.10gb": 1}, r"cannot hold 2 x 3g\.40gb, 1 x 1g\.10gb at once"),
        ({"7g.80gb": 1, "1g.10gb": 1}, "cannot hold"),
        ({"9g.99gb": 1}, r"no MIG profile '9g\.99gb': write one of 1g\.10gb, "),
        ({"1g.10gb": -1}, "at most 7"),
    ],
)
def test_partitions_that_do_not_fit_are_refused(layout: dict[str, int], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        hardware.placed(hardware.gpu("H100"), layout)


def test_a_gpu_without_mig_says_so() -> None:
    with pytest.raises(UsageError, match="GPU T4 has no MIG"):
        hardware.placed(hardware.gpu("T4"), {"1g.10gb": 1})


@pytest.mark.parametrize(
    ("options", "resources"),
    [
        ({}, {"nvidia.com/gpu": 8}),
        ({"replicas": 4}, {"nvidia.com/gpu": 32}),
        ({"strategy": "single"}, {"nvidia.com/gpu": 8}),
        ({"strategy": "single", "layout": {"1g.10gb": 7}}, {"nvidia.com/gpu": 56}),
        ({"strategy": "single", "layout": {"3g.40gb": 1, "2g.20gb": 1}}, {}),
        ({"strategy": "single", "layout": {"1g.10gb": 7}, "whole": 1}, {}),
        ({"strategy": "mixed", "layout": {"1g.10gb": 7}}, {"nvidia.com/mig-1g.10gb": 56}),
        (
            {"strategy": "mixed", "layout": {"3g.40gb": 1, "1g.10gb.me": 1}, "whole": 6},
            {"nvidia.com/gpu": 6, "nvidia.com/mig-3g.40gb": 2, "nvidia.com/mig-1g.10gb.me": 2},
        ),
    ],
)
def test_resources_are_those_of_the_device_plugin(options: dict[str, Any], resources: dict[str, int]) -> None:
    assert hardware.gpu_resources(hardware.gpu("H100"), 8, **options) == resources


def test_a_layout_without_a_strategy_and_too_many_whole_gpus_are_refused() -> None:
    h100 = hardware.gpu("H100")
    with pytest.raises(UsageError, match="needs the MIG strategy"):
        hardware.gpu_resources(h100, 8, layout={"1g.10gb": 1})
    with pytest.raises(UsageError, match="9 whole GPUs of 8"):
        hardware.gpu_resources(h100, 8, strategy="mixed", layout={"1g.10gb": 1}, whole=9)


def test_the_labels_of_whole_gpus() -> None:
    assert hardware.gpu_feature_labels(hardware.gpu("H100"), 8, timestamp=1700000000) == {
        "nvidia.com/cuda.driver.major": "580",
        "nvidia.com/cuda.driver.minor": "95",
        "nvidia.com/cuda.driver.rev": "05",
        "nvidia.com/cuda.runtime.major": "13",
        "nvidia.com/cuda.runtime.minor": "0",
        "nvidia.com/cuda.driver-version.major": "580",
        "nvidia.com/cuda.driver-version.minor": "95",
        "nvidia.com/cuda.driver-version.revision": "05",
        "nvidia.com/cuda.driver-version.full": "580.95.05",
        "nvidia.com/cuda.runtime-version.major": "13",
        "nvidia.com/cuda.runtime-version.minor": "0",
        "nvidia.com/cuda.runtime-version.full": "13.0",
        "nvidia.com/gfd.timestamp": "1700000000",
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.machine": "DGXH100",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mps.capable": "false",
    }


def test_the_labels_of_strategy_single_describe_the_partitions() -> None:
    labels = hardware.gpu_feature_labels(hardware.gpu("A100-40GB"), 8, strategy="single", layout={"1g.5gb": 7})
    expected = {
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "nvidia.com/gpu.count": "56",
        "nvidia.com/gpu.memory": "4864",
        "nvidia.com/gpu.multiprocessors": "14",
        "nvidia.com/gpu.slices.gi": "1",
        "nvidia.com/gpu.slices.ci": "1",
        "nvidia.com/gpu.engines.copy": "1",
        "nvidia.com/gpu.engines.decoder": "0",
        "nvidia.com/gpu.engines.encoder": "0",
        "nvidia.com/gpu.engines.jpeg": "0",
        "nvidia.com/gpu.engines.ofa": "0",
        "nvidia.com/gpu.replicas": "1",
    }
    assert expected.items() <= labels.items()


def test_strategy_single_over_different_partitions_is_invalid() -> None:
    labels = hardware.gpu_feature_labels(
        hardware.gpu("A100"), 8, strategy="single", layout={"3g.40gb": 1, "2g.20gb": 1}
    )
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-INVALID"
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/gpu.memory"]) == ("0", "0")


def test_the_labels_of_strategy_mixed_have_a_set_for_each_kind() -> None:
    labels = hardware.gpu_feature_labels(
        hardware.gpu("H100"), 8, strategy="mixed", layout={"3g.40gb": 1, "1g.10gb+me": 1}, whole=2
    )
    expected = {
        "nvidia.com/mig.strategy": "mixed",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/mig-3g.40gb.product": "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb",
        "nvidia.com/mig-3g.40gb.count": "6",
        "nvidia.com/mig-3g.40gb.slices.gi": "3",
        "nvidia.com/mig-1g.10gb.me.count": "6",
        "nvidia.com/mig-1g.10gb.me.engines.jpeg": "1",
    }
    assert expected.items() <= labels.items()


def test_gpus_that_are_all_cut_have_no_replicas() -> None:
    labels = hardware.gpu_feature_labels(hardware.gpu("H100"), 8, strategy="mixed", layout={"1g.10gb": 7})
    assert labels["nvidia.com/gpu.replicas"] == "0"


def test_shared_gpus_are_told_in_product_and_replicas() -> None:
    labels = hardware.gpu_feature_labels(hardware.gpu("L40S"), 8, sharing="time-slicing", replicas=4)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L40S-SHARED"
    assert labels["nvidia.com/gpu.replicas"] == "4"
    assert labels["nvidia.com/gpu.sharing-strategy"] == "time-slicing"
    assert labels["nvidia.com/mig.capable"] == "false"


def test_a_rack_wide_nvlink_domain_is_told_by_its_clique() -> None:
    clique = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1"
    labels = hardware.gpu_feature_labels(hardware.gpu("GB200"), 4, clique=clique)
    assert labels["nvidia.com/gpu.clique"] == clique
    assert labels["nvidia.com/gpu.machine"] == "NVIDIA-GB200-NVL"
    assert labels["nvidia.com/gpu.family"] == "blackwell"


def test_a_node_without_gpus_has_no_labels() -> None:
    assert hardware.gpu_feature_labels(hardware.gpu("H100"), 0) == {}


@pytest.mark.parametrize("name", ALL)
def test_kubernetes_accepts_all_labels(name: str) -> None:
    gpu = hardware.gpu(name)
    sets = [hardware.gpu_feature_labels(gpu, gpu.server.gpus)]
    sets += [
        hardware.gpu_feature_labels(gpu, 1, strategy="mixed", layout={profile.name: profile.count})
        for profile in gpu.mig
    ]
    for labels in sets:
        for key, value in labels.items():
            assert label_key_problem(key) is None
            assert label_value_problem(value) is None


def test_the_dra_device_of_a_whole_gpu() -> None:
    assert hardware.dra_device(hardware.gpu("H100"), 4, uuid="GPU-1") == {
        "name": "gpu-4",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-1"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.95.5"},
            "cudaDriverVersion": {"version": "13.0.0"},
            "addressingMode": {"string": "HMM"},
            "resource.kubernetes.io/pciBusID": {"string": "0000:9d:00.0"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:97"},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }


def test_the_dra_device_of_a_partition_takes_memory_slices() -> None:
    h100 = hardware.gpu("H100")
    device = hardware.dra_mig_device(h100, 0, h100.profile("3g.40gb"), 4, uuid="MIG-1", parent_uuid="GPU-1")
    assert device["name"] == "gpu-0-mig-3g40gb-9-4"
    assert device["attributes"]["profile"] == {"string": "3g.40gb"}
    assert device["attributes"]["parentUUID"] == {"string": "GPU-1"}
    assert {name for name in device["capacity"] if name.startswith("memorySlice")} == {
        f"memorySlice{number}" for number in range(4, 8)
    }


@pytest.mark.parametrize("name", ALL)
def test_capacities_are_quantities_in_canonical_form(name: str) -> None:
    gpu = hardware.gpu(name)
    for index in range(gpu.server.gpus):
        for capacity in hardware.dra_device(gpu, index, uuid="GPU-1")["capacity"].values():
            assert str(Quantity.parse(capacity["value"])) == capacity["value"]
    for profile in gpu.mig:
        device = hardware.dra_mig_device(gpu, 0, profile, profile.starts[0], uuid="MIG-1", parent_uuid="GPU-1")
        for capacity in device["capacity"].values():
            assert str(Quantity.parse(capacity["value"])) == capacity["value"]


def test_a_gpu_that_the_server_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="has GPUs 0 to 3, none with the number 4"):
        hardware.dra_device(hardware.gpu("GB200"), 4, uuid="GPU-1")


def test_a_custom_gpu_takes_the_rest_from_another() -> None:
    gpu = hardware.custom({"like": "H100", "name": "H20", "product": "NVIDIA H20", "memory_mib": 97871, "mig": []})
    assert (gpu.name, gpu.family, gpu.nvlink, gpu.server.machine) == ("H20", "hopper", 8, "DGXH100")
    assert hardware.gpu_feature_labels(gpu, 8)["nvidia.com/gpu.product"] == "NVIDIA-H20"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"product": "X"}, "custom GPU: .*missing required field"),
        ({"like": "H100", "memory": 1}, "custom GPU: .*unknown field `memory`"),
        ({"like": "H100", "memory_mib": "much"}, r"custom GPU: Expected `int`, got `str` - at `\$.memory_mib`"),
        ({"like": "H100", "compute": "99.0"}, "compute capability '99.0' is unknown"),
        ({"like": "nothing"}, "unknown GPU 'nothing'"),
    ],
)
def test_a_wrong_custom_gpu_is_told_by_field(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        hardware.custom(fields)
