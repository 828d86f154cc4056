"""Whether a recording is whole: what the server lists must be known, at the version that it lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure import shapes
from kubedyno.measure.recorder import Track, number
from kubedyno.model.samples import Followed as Went

_LOOK_EVERY_S: Final = 0.02

NOT_SERVED: Final = "the server does not have it"
"""Why a kind may be absent without anything being missed."""


class Standing(msgspec.Struct, frozen=True):
    """What a list of one kind showed against what was known of it."""

    resource: str
    listed: int
    unknown: int
    """Objects that the server lists and the recorder never saw, or saw at an older version."""
    stale: int
    """Objects that the recorder takes to be there and that the server does not list."""
    trouble: str = ""
    """Why it could not be listed."""


async def prove(client: Client, track: Track, *, namespace: str | None, within_s: float) -> Standing:
    """List a kind, and wait until the watch has caught up with it; what is still missing then is missed."""
    followed = track.followed
    track.gone = set()
    try:
        listed: dict[str, str] = {}
        version = ""
        pages = client.list_pages(
            followed.resource,
            namespace=namespace,
            field_selector=followed.fields or None,
            shape=shapes.IDENTITIES,
        )
        async for page in pages:
            if page.is_first:
                listed.clear()
            version = page.resource_version
            for item in page.items:
                listed[item["metadata"]["uid"]] = item["metadata"]["resourceVersion"]
        deadline_ns = client.clock.monotonic_ns() + round(within_s * NS_PER_S)
        unknown = unseen(listed, track)
        stale = overstayed(track.uids(), listed, number(version), track)
        while (unknown or stale) and client.clock.monotonic_ns() <= deadline_ns:
            await client.clock.sleep(_LOOK_EVERY_S)
            unknown = unseen(unknown, track)
            stale = overstayed(stale, listed, number(version), track)
        return Standing(track.name, len(listed), len(unknown), len(stale))
    except (ApiError, Unreachable) as error:
        return Standing(track.name, 0, 0, 0, trouble=str(error))
    finally:
        track.gone = None


def unseen(listed: Mapping[str, str], track: Track) -> dict[str, str]:
    """The listed objects that are not known at the listed version or a later one, and were not deleted since."""
    gone = track.gone or set()
    missing = {}
    for uid, version in listed.items():
        known = track.version_of(uid)
        if known is None:
            if uid not in gone:
                missing[uid] = version
        elif known != version and number(known) <= number(version):
            missing[uid] = version
    return missing


def overstayed(uids: Iterable[str], listed: Mapping[str, str], version: int, track: Track) -> list[str]:
    """Those that are taken to be there and are not listed, although what is known of them is older than the list."""
    stale = []
    for uid in uids:
        known = track.version_of(uid)
        if known is not None and uid not in listed and number(known) <= version:
            stale.append(uid)
    return stale


def verdict(
    watches: Sequence[Went], absences: Mapping[str, str], standings: Sequence[Standing] | None
) -> tuple[bool, str]:
    """Whether nothing can have been missed, and why: one or two sentences."""
    told = [
        f"States of {watch.resource} may be missing: the server no longer had what came after the last version seen, "
        f"and all were listed anew ({_times(watch.relists)})."
        for watch in watches
        if watch.relists
    ]
    told += [f"{name} were not recorded: {why}." for name, why in absences.items() if why != NOT_SERVED]
    if standings is None:
        told.append("Nothing was proven: the recording goes on, or was broken off.")
        return False, " ".join(told)
    told += [
        f"Of {one.resource} {one.unknown} objects or versions that the server lists never arrived, nor did the end of "
        f"{one.stale}."
        for one in standings
        if one.unknown or one.stale
    ]
    told += [f"{one.resource} could not be listed: {one.trouble}." for one in standings if one.trouble]
    if told:
        return False, " ".join(told)
    cuts = sum(watch.cuts for watch in watches)
    resumed = f"{cuts} broken streams were resumed at the version where they ended" if cuts else "no stream broke"
    objects = sum(one.listed for one in standings)
    return True, f"All {objects} objects that the server lists are known at the version that it lists, and {resumed}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
