"""When nodes fail."""

import itertools

import pytest

from kubedyno.kit.draws import Draw
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim.faults.scheduling import Outage, draw_schedule, once, parse_rate_per_s
from kubedyno.sim.faults.selecting import Domain

pytestmark = pytest.mark.unit

DOMAINS = [Domain(f"rack-{index}", (f"n-{index}",)) for index in range(50)]
REPAIR = Draw.parse("uniform(1m, 5m)")


@pytest.mark.parametrize(
    ("text", "per_s"),
    [("0.5/h", 0.5 / 3600), ("2/m", 2 / 60), ("1/90s", 1 / 90), (" 3 / s ", 3.0), (".5/1h30m", 0.5 / 5400)],
)
def test_rates_are_read_as_people_write_them(text: str, per_s: float) -> None:
    assert parse_rate_per_s(text) == pytest.approx(per_s)


@pytest.mark.parametrize("text", ["", "0.5", "0.5/", "/h", "often", "0/h", "1/day", "-1/h", "1/0s"])
def test_what_is_no_rate_is_told(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_rate_per_s(text)
    assert str(caught.value) == f"{text!r} is no rate: write how many in which time, like 0.5/h or 1/90s"
    assert caught.value.exit_code == ExitCode.USAGE


def test_all_domains_fail_at_once_and_for_as_long_as_asked() -> None:
    assert once(DOMAINS[:2], for_s=60) == (Outage(0, 60, DOMAINS[0]), Outage(0, 60, DOMAINS[1]))
    assert once(DOMAINS[:1], for_s=None)[0].until_s is None


def test_outages_come_at_their_rate_in_order_of_time() -> None:
    hours = 200
    drawn = draw_schedule(3, DOMAINS, rate_per_s=0.5 / 3600, repair=REPAIR, during_s=hours * 3600)
    # Each is up for two hours and down for three minutes, in the mean.
    expected = len(DOMAINS) * hours / 2.05
    assert 0.9 * expected < len(drawn) < 1.1 * expected
    assert [outage.at_s for outage in drawn] == sorted(outage.at_s for outage in drawn)
    assert all(0 < outage.at_s < hours * 3600 for outage in drawn)
    assert all(60 <= (outage.until_s or 0) - outage.at_s <= 300 for outage in drawn)


def test_a_domain_never_fails_while_it_is_down() -> None:
    drawn = draw_schedule(3, DOMAINS[:1], rate_per_s=1.0, repair=Draw.parse("1m"), during_s=10_000)
    assert len(drawn) > 100
    for before, after in itertools.pairwise(drawn):
        assert (before.until_s or 0) < after.at_s


def test_a_seed_repeats_and_domains_do_not_disturb_each_other() -> None:
    settings = {"rate_per_s": 1 / 600, "repair": REPAIR, "during_s": 3600.0}
    every = draw_schedule(1, DOMAINS, **settings)
    assert every == draw_schedule(1, DOMAINS, **settings)
    assert every != draw_schedule(2, DOMAINS, **settings)
    alone = draw_schedule(1, DOMAINS[7:8], **settings)
    assert alone == tuple(outage for outage in every if outage.domain.name == "rack-7")
