"""A device belongs to one claim."""

from collections.abc import Iterator

from kubedyno.measure.invariants.facts import ClaimFacts, Device
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import World


class DeviceTwice(Rule):
    """Who has which device, as claims say."""

    name = "device given twice"
    meaning = "A device that is not shared is allocated to one claim at a time."

    def __init__(self) -> None:
        self._holders: dict[Device, dict[str, str]] = {}
        self._devices: dict[str, tuple[Device, ...]] = {}

    def claimed(self, world: World, claim: ClaimFacts, at_ns: int) -> Iterator[Breach]:
        """Compare with who has its devices."""
        del world, at_ns
        before = self._devices.pop(claim.uid, ())
        for device in before:
            self._holders[device].pop(claim.uid, None)
        if not claim.devices:
            return
        self._devices[claim.uid] = claim.devices
        title = f"{claim.key[0]}/{claim.key[1]}"
        for device in claim.devices:
            holders = self._holders.setdefault(device, {})
            holders[claim.uid] = title
            if len(holders) > 1 and device not in before:
                driver, pool, name = device
                yield Breach(
                    f"ResourceClaim {title}",
                    None,
                    f"device {name} of pool {pool} (driver {driver}) is allocated to {len(holders)} claims: "
                    f"{', '.join(sorted(holders.values()))}",
                )
