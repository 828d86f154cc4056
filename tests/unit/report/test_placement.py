"""Who sat where: cells of nodes, and the map that is made of them."""

import re
from pathlib import Path

import msgspec
import pytest
from tests import records

from kubedyno.kit.clock import NS_PER_S
from kubedyno.report import placement_map
from kubedyno.report.placement import Cell, Placement, placement
from kubedyno.report.run_reading import Claim, Mark, Node, TrialRead

pytestmark = pytest.mark.unit


def pod(uid: str, node: str | None, bound_s: float, ended_s: float | None = None, created_s: float = 0.0) -> list[Mark]:
    """What was seen of a pod."""
    marks = [("created", created_s, None), ("scheduled", bound_s, node), ("deleted", ended_s, node)]
    return [
        Mark(uid, "pod", phase, at_ns, at_ns, at_ns, where, f"ns/{uid}")
        for phase, at_s, where in marks
        if at_s is not None and (phase != "scheduled" or node is not None)
        for at_ns in (round(at_s * NS_PER_S),)
    ]


def trial(workloads: dict[str, list[Mark]], claims: tuple[Claim, ...] = ()) -> TrialRead:
    return TrialRead(number=1, folder=Path(), record=records.TRIAL, workloads=workloads, series={}, claims=claims)


def test_cells_fill_in_the_order_of_binding_and_are_taken_again() -> None:
    made = placement(
        trial(
            {
                "gang": [*pod("a", "n10", 2.0), *pod("b", "n2", 1.0, 3.0)],
                "late": [*pod("c", "n2", 4.0), *pod("d", "n2", 2.5), *pod("e", None, 1.0)],
            }
        )
    )
    assert made.nodes == ("n2", "n10")
    assert made.workloads == ("gang", "late")
    assert made.cells == (
        Cell(0, 0, 0, 1000, 3000, None),
        Cell(1, 0, 0, 2000, None, None),
        Cell(0, 1, 1, 2500, None, None),
        Cell(0, 0, 1, 4000, None, None),
    )
    assert made.slots == 2
    assert made.end_ms == 4000
    assert made.fullest_ms() == 4000


def test_the_fullest_moment_is_the_last_of_those() -> None:
    def fullest_ms(*spans: tuple[float, float | None]) -> int:
        pods = {str(at): pod(str(at), "n1", *span) for at, span in enumerate(spans)}
        return placement(trial(pods)).fullest_ms()

    assert fullest_ms((1.0, 3.0), (2.0, 4.0), (5.0, 6.0)) == 2999
    assert fullest_ms((1.0, 3.0), (2.0, None), (5.0, None)) == 5000
    assert fullest_ms((1.0, 3.0)) == 2999
    assert fullest_ms() == 0


def test_devices_that_claims_name_are_cells_of_their_own() -> None:
    claim = Claim(0, 1, "ns/a", ("pool/gpu-3", "pool/gpu-5"))
    made = placement(trial({"gang": [*pod("a", "n1", 1.0), *pod("b", "n1", 2.0)]}, (claim, Claim(0, None))))
    assert [(cell.slot, cell.device) for cell in made.cells] == [(0, "pool/gpu-3"), (1, "pool/gpu-5"), (2, None)]
    told = placement_map.told(made)
    assert "nobody recorded how many" in told
    assert "these are its cells" in told
    alone = placement(trial({"gang": pod("a", "n1", 1.0)}, (claim,)))
    assert "A cell is a device" in placement_map.told(alone)


def test_a_pod_has_as_many_cells_as_gpus_and_idle_nodes_are_shown_where_they_stand() -> None:
    seen = trial({"gang": [*pod("a", "n1", 1.0), *pod("b", "n2", 2.0)], "web": pod("c", "n3", 3.0)})
    nodes = (
        Node("n1", 8.0, ("z1", "r10")),
        Node("n2", 8.0, ("z1", "r2")),
        Node("n3", 4.0, ("z0", "r1")),
        Node("n4", 8.0, ("z0", "r1")),
        Node("cpu", 0.0, ("z0", "r1")),
    )
    made = placement(msgspec.structs.replace(seen, gpus={"a": 2.0, "b": 0.5, "c": 0.0}, nodes=nodes))
    assert (made.nodes, made.groups) == (("n3", "n4", "n2", "n1"), (("z0/r1", 2), ("z1/r2", 1), ("z1/r10", 1)))
    assert [(made.nodes[cell.node], cell.slot) for cell in made.cells] == [("n1", 0), ("n1", 1), ("n2", 0)]
    assert (made.slots, made.workloads) == (8, ("gang",))
    told = placement_map.told(made)
    assert told.startswith("1 workloads on 4 nodes. A cell is a GPU; ")
    assert msgspec.json.decode(placement_map.data(made))["slots"] == 8


def test_many_racks_are_grouped_by_what_they_stand_in() -> None:
    nodes = tuple(Node(f"n{at}", 8.0, (f"z{at // 60}", f"r{at}")) for at in range(120))
    made = placement(msgspec.structs.replace(trial({"w": pod("a", "n7", 1.0)}), gpus={"a": 1.0}, nodes=nodes))
    assert made.groups == (("z0", 60), ("z1", 60))
    told = tuple(msgspec.structs.replace(node, place=("zone-1", f"zone-1-{node.place[1]}")) for node in nodes[:2])
    made = placement(msgspec.structs.replace(trial({"w": pod("a", "n1", 1.0)}), gpus={"a": 1.0}, nodes=told))
    assert made.groups == (("zone-1-r0", 1), ("zone-1-r1", 1))


def test_without_gpus_a_cell_is_a_pod_on_all_nodes() -> None:
    nodes = (Node("n1", 0.0), Node("n2", 0.0))
    made = placement(msgspec.structs.replace(trial({"w": pod("a", "n1", 1.0)}), gpus={"a": 0.0}, nodes=nodes))
    assert (made.nodes, made.slots, made.is_by_gpu) == (("n1", "n2"), 1, False)


def test_devices_have_places_by_their_names_and_those_who_share_sit_after_them() -> None:
    marks = [*pod("a", "n1", 1.0, 4.0), *pod("b", "n1", 2.0), *pod("c", "n1", 3.0), *pod("d", "n1", 5.0)]
    devices = {"a": "n1/gpu10", "b": "n1/gpu2", "c": "n1/gpu10", "d": "n1/gpu10"}
    claims = tuple(Claim(0, 1, f"ns/{name}", (device,)) for name, device in devices.items())
    made = placement(trial({"w": marks}, claims))
    assert [cell.slot for cell in made.cells] == [1, 0, 2, 1]


def test_nodes_are_grouped_by_what_their_names_share() -> None:
    def groups(*names: str) -> tuple[tuple[str, int], ...]:
        return placement(trial({name: pod(name, name, 1.0) for name in names})).groups

    assert groups("a-1", "a-2", "b-1") == (("a-…", 2), ("b-…", 1))
    assert groups("n1", "n2", "n10") == (("", 3),)
    assert groups(*(f"{chr(97 + at // 26)}{chr(97 + at % 26)}-1" for at in range(60))) == (("", 60),)
    assert groups() == ()


def unfolded(short: list[int | str]) -> list[str]:
    names: list[str] = []
    for shared, rest in zip(short[::2], short[1::2], strict=True):
        assert isinstance(shared, int)
        names.append((names[-1] if names else "")[:shared] + str(rest))
    return names


def test_data_for_the_script_is_small_and_can_end_no_element() -> None:
    names = ("job-1", "job-10", "</script><b>", "job")
    made = placement(trial({name: pod(name, f"n{at}", 1.0 + at, 9.0) for at, name in enumerate(names)}))
    data = placement_map.data(made)
    assert b"<" not in data
    read = msgspec.json.decode(data)
    assert unfolded(read["workloads"]) == list(names)
    assert unfolded(read["nodes"]) == ["n0", "n1", "n2", "n3"]
    assert read["since"] == [1000, 1000, 1000, 1000]
    assert read["until"] == {"0": 9000, "1": 9000, "2": 9000, "3": 9000}
    text = placement_map.section(made, trial=1)
    assert text.count("</script>") == 1
    assert "<b>" not in text


def test_the_map_stands_there_in_words_too() -> None:
    many = {f"w{at}": pod(f"p{at}", "n0", 1.0) for at in range(45)}
    gang = [mark for at in range(12) for mark in pod(f"g{at}", f"n{at // 2 * 2 if at < 4 else at}", 1.0)]
    text = placement_map.section(placement(trial({**many, "gang <1>": gang})), trial=1)
    words = text[text.index("The map in words") :]
    assert "the largest 40 of 46" in words
    assert words.count("<tr>") == 41
    assert "gang &lt;1&gt;</td><td" in words
    assert "n0 (2), n2 (2), n4" in words
    assert "and 2 more" in words


def test_a_trial_without_places_has_no_map() -> None:
    assert placement_map.section(placement(trial({"w": pod("a", None, 1.0)})), trial=1) == ""


def test_a_map_of_5000_nodes_stays_small() -> None:
    cells = tuple(Cell(at // 8, at % 8, at, at // 2, None, None) for at in range(40_000))
    made = Placement(
        tuple(f"gpu-{at}" for at in range(5_000)),
        (("", 5_000),),
        tuple(f"training-{at}" for at in range(40_000)),
        cells,
        20_000,
    )
    assert len(placement_map.data(made)) < 1_200_000
    assert "40,000 places are too many" in placement_map.left_out(made)


def test_the_script_asks_nobody_and_writes_no_markup() -> None:
    script = placement_map.script()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|fetch|http", script)
