"""Following a resource of a server that is not always well."""

from collections.abc import Callable

import pytest
from tests.yard import Connection, Yard, failing, lost, run_in_yard

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.retrying import may_pass
from kubedyno.client.watching import Changed, Event, Listed
from kubedyno.kit import randomness, tasks
from kubedyno.kube import status
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim.following import follow, present

pytestmark = pytest.mark.unit


def name_of(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def listed(*names: str) -> Listed:
    return Listed([{"metadata": {"name": name}} for name in names], "1", 0, 0)


def test_a_list_says_what_is_there_and_what_is_gone() -> None:
    gone: list[str] = []
    found = present(listed("b", "c"), {"a": 1, "b": 2}, gone.append, name_of)
    assert [name_of(obj) for obj in found] == ["b", "c"]
    assert gone == ["a"]


@pytest.mark.parametrize(
    ("type_", "there", "left"), [("ADDED", ["a"], []), ("MODIFIED", ["a"], []), ("DELETED", [], ["a"])]
)
def test_a_change_says_the_same_of_one_object(type_: str, there: list[str], left: list[str]) -> None:
    gone: list[str] = []
    changed = Changed(type_, {"metadata": {"name": "a"}}, 0, 0)  # type: ignore[arg-type] # one of the three
    assert [name_of(obj) for obj in present(changed, {"a": 1, "b": 2}, gone.append, name_of)] == there
    assert gone == left


async def follow_for(
    world: Yard, act: Callable[[Connection], None] | None, for_s: float
) -> tuple[list[Event], Connection]:
    client, connection = world.connect()
    events: list[Event] = []
    if act:
        act(connection)
    async with tasks.owning() as group:
        task = group.create_task(follow(client, NODES, events.append, rng=randomness.stream(1, "test")))
        await world.sleep(for_s)
        connection.fate = None
        await world.sleep(20)
        task.cancel()
    return events, connection


@pytest.mark.parametrize("answer", [lost, lambda: failing(500), lambda: failing(429)])
def test_a_server_that_is_away_at_first_is_waited_for(answer: Callable[[], Exception]) -> None:
    async def story(world: Yard) -> None:
        await world.node()

        def be_away(connection: Connection) -> None:
            connection.fate = lambda _method, _path: answer()

        events, _ = await follow_for(world, be_away, 60)
        assert [type(event) for event in events] == [Listed]
        assert [name_of(obj) for obj in events[0].items] == ["n"]  # type: ignore[union-attr] # as just seen

    run_in_yard(story)


def test_what_cannot_get_better_is_raised() -> None:
    async def story(world: Yard) -> None:
        client, connection = world.connect()
        connection.fate = lambda _method, _path: failing(403)
        with pytest.raises(ApiError, match="failed with 403"):
            await follow(client, NODES, lambda _event: None, rng=randomness.stream(1, "test"))

    run_in_yard(story)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422, 408, 429, 500, 503, 504])
def test_a_busy_server_may_do_better_later(code: int) -> None:
    error = ApiError(status.parse(failing(code).body, code=code), method="GET", path="/x")
    assert may_pass(error) is (code in {408, 429, 500, 503, 504})


def test_a_server_that_is_away_may_come_back_but_not_one_that_never_was() -> None:
    assert may_pass(lost())
    assert not may_pass(Unreachable(server="s", cause="has no name", remedy="look", permanent=True))
