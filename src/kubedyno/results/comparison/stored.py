"""Sets of trials from a store: the runs of a branch, a tag, a commit, or one run."""

from kubedyno.kit.errors import UsageError
from kubedyno.results.comparison.comparing import Trial
from kubedyno.results.publishing.store import Store


async def read_stored(store: Store, chosen: str) -> tuple[Trial, ...]:
    """The trials of all runs of ours in a store that `chosen` names: by ref, by the begin of the commit, or by id."""
    rows = await store.rows()
    named = [row for row in rows if chosen and (chosen in {row.ref, row.id} or row.commit.startswith(chosen))]
    if not named:
        there = sorted({row.ref or row.commit[:12] or row.id for row in rows})
        listed = f"{', '.join(there[:10])}{' and more' if there[10:] else ''}" or "nothing"
        raise UsageError(f"{store.place.url} has no run of {chosen!r}: there is {listed}")
    found: list[Trial] = []
    for row in named:
        if row.source == "kubedyno":
            run, trials = await store.records(row.path)
            found += [Trial(run, trial) for trial in trials]
    if not found:
        raise UsageError(f"the runs of {chosen!r} in {store.place.url} are not ours: they have no repeats to compare")
    return tuple(found)
