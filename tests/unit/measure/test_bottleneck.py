"""Who gave way: one table of what was seen, and what is to be said of it."""

import msgspec
import pytest

from kubedyno.measure import bottleneck
from kubedyno.measure.bottleneck import Deciding, Kubelets, Seen, Server, Store
from kubedyno.measure.records import Finding

pytestmark = pytest.mark.unit

CALM = Seen(
    duration_s=10.0,
    cores=2,
    busy=0.6,
    cpu_s={"kube-apiserver": 5.0, "etcd": 2.0, "plugins": 2.0, "kubelets": 1.0, "kubedyno": 2.0},
    one_core=frozenset({"kubedyno", "kubelets"}),
    server=Server(requests=10_000, p99_s=0.05, in_flight=3.0, in_flight_limit=600),
    store=Store(requests=4000, p99_s=0.02, fsync_p99_s=0.004),
    scheduler=Deciding(component="plugins", attempts=900, deciding_s=4.0, p99_s=0.01),
    kubelets=Kubelets(component="kubelets", start_p99_s=0.02, deepest_queue=7),
)
THROTTLED = Finding(
    name="limited by plugins.clientConnection.qps",
    component="plugins",
    declared=True,
    evidence="900 of 1000 requests waited for the client's own limiter, 60.0 s in all",
)
FULL_LOOP = Deciding(
    component="plugins", attempts=300, deciding_s=9.5, p99_s=0.4, pending_before=10.0, pending_after=700.0
)


def used(**cpu_s: float) -> dict[str, float]:
    return {**CALM.cpu_s, **{name.replace("_", "-"): seconds for name, seconds in cpu_s.items()}}


@pytest.mark.parametrize(
    ("more", "component", "way", "evidence", "besides"),
    [
        pytest.param({}, "nobody", "none", "no component shows that it was at its limit", (), id="calm"),
        pytest.param(
            {"throttling": (THROTTLED,), "scheduler": FULL_LOOP},
            "plugins",
            "client limit",
            "limited by plugins.clientConnection.qps: 900 of 1000 requests waited for the client's own limiter",
            ("plugins (loop)",),
            id="a limiter explains a full loop",
        ),
        pytest.param(
            {"cpu_s": used(kubedyno=9.6), "busy": 0.99},
            "kubedyno",
            "one core",
            "it used 0.96 cores, and cannot use more than one",
            ("the host (host)",),
            id="the load generator itself",
        ),
        pytest.param(
            {"cpu_s": used(kubelets=9.1), "kubelets": Kubelets(component="kubelets", start_p99_s=4.0)},
            "kubelets",
            "one core",
            "it used 0.91 cores, and cannot use more than one",
            ("kubelets (lag)",),
            id="the simulator",
        ),
        pytest.param(
            {"kubelets": Kubelets(component="kubelets", start_p99_s=1.5, deepest_queue=900)},
            "kubelets",
            "lag",
            "pods were started 1.50 s late (p99), 900 waited at most; it used 0.10 of 2 cores",
            (),
            id="kubelets wait for something",
        ),
        pytest.param(
            {"server": Server(requests=1000, refused=40, p99_s=2.0, in_flight=580.0, in_flight_limit=600)},
            "kube-apiserver",
            "refusals",
            "40 of 1000 requests were put off with 429, 580 of 600 were in work at a time, each waited 0.000 s in a "
            "queue; it used 0.50 of 2 cores",
            ("kube-apiserver (latency)",),
            id="429",
        ),
        pytest.param(
            {"server": Server(requests=100_000, refused=40, p99_s=0.1, in_flight=5.0)},
            "nobody",
            "none",
            "no component",
            (),
            id="a few 429 are an accident",
        ),
        pytest.param(
            {
                "server": Server(requests=1000, p99_s=1.4, in_flight=40.0),
                "store": Store(requests=700, p99_s=0.9, errors=3, fsync_p99_s=0.3),
            },
            "etcd",
            "store",
            "p99 of 700 requests to it is 0.900 s, of its writes to disk 0.300 s, 3 requests failed; it used 0.20 of 2",
            ("kube-apiserver (latency)",),
            id="a slow disk below a slow server",
        ),
        pytest.param(
            {
                "server": Server(requests=1000, p99_s=4.0, in_flight=40.0),
                "store": Store(requests=700, p99_s=0.2, fsync_p99_s=0.003),
            },
            "kube-apiserver",
            "latency",
            "p99 of 1000 requests is 4.000 s, 40.0 were in work at a time; it used 0.50 of 2 cores",
            (),
            id="a slow server above a store that does not explain it",
        ),
        pytest.param(
            {
                "busy": 0.99,
                "cpu_s": used(kube_apiserver=14.0),
                "store": Store(requests=700, p99_s=0.3, fsync_p99_s=0.003),
                "server": Server(requests=1000, p99_s=0.4),
            },
            "kube-apiserver",
            "cpu",
            "it used 1.40 of 2 cores, 67% of what was used; no core was idle",
            ("the host (host)",),
            id="a store that is starved is not at fault",
        ),
        pytest.param(
            {"scheduler": FULL_LOOP},
            "plugins",
            "loop",
            "it was deciding for 95% of the time, and waiting pods went from 10 to 700, p99 of an attempt is 0.400 s; "
            "it used 0.20 of 2 cores",
            (),
            id="a scheduler that does not keep up",
        ),
        pytest.param(
            {"scheduler": msgspec.structs.replace(FULL_LOOP, pending_after=4.0)},
            "nobody",
            "none",
            "no component",
            (),
            id="a scheduler that keeps up",
        ),
        pytest.param(
            {
                "busy": 0.98,
                "scheduler": FULL_LOOP,
                "cpu_s": used(kube_apiserver=8.0, plugins=6.0),
                "server": Server(requests=1000, p99_s=1.2),
            },
            "kube-apiserver",
            "latency",
            "p99 of 1000 requests is 1.200 s",
            ("the host (host)",),
            id="on a full machine a starved scheduler is not at fault",
        ),
        pytest.param(
            {"busy": 0.97},
            "the host",
            "host",
            "97% of 2 cores were busy, and nobody had more than half of it: others 38%, kube-apiserver 26%, ",
            (),
            id="none of them: the host",
        ),
        pytest.param(
            {"server": None, "store": None, "scheduler": None, "kubelets": None, "cpu_s": {}, "busy": 1.0},
            "the host",
            "host",
            "100% of 2 cores were busy: others 100%",
            (),
            id="nothing is known but the host",
        ),
    ],
)
def test_who_gave_way_and_what_shows_it(
    more: dict[str, object], component: str, way: str, evidence: str, besides: tuple[str, ...]
) -> None:
    found = bottleneck.decide(msgspec.structs.replace(CALM, **more))
    assert (found.component, found.way, found.besides) == (component, way, besides)
    assert found.evidence.startswith(evidence)


def test_only_the_process_that_makes_the_load_is_the_instrument() -> None:
    ours = msgspec.structs.replace(CALM, cpu_s=used(kubedyno=9.6))
    theirs = msgspec.structs.replace(CALM, cpu_s=used(kubelets=9.6))
    assert [bottleneck.decide(one).is_instrument for one in (ours, theirs, CALM)] == [True, False, False]


def test_no_time_at_all_is_nobodys_fault() -> None:
    assert bottleneck.decide(msgspec.structs.replace(CALM, duration_s=0.0)).component == bottleneck.NOBODY
