"""The queries of ClusterLoader2's measurements, over pages whose answers are known."""

import pytest
from tests.scrapes import ask, loaded

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql import NAME, Sample, Samples, metrics_of

pytestmark = pytest.mark.unit

FILTERS = 'verb!="WATCH", subresource!~"log|exec|portforward|attach|proxy"'
LATENCY = "apiserver_request_duration_seconds"


def test_the_highest_throughput_of_scheduling() -> None:
    query = (
        'max_over_time(sum(irate(apiserver_request_total{verb="POST", resource="pods", subresource="binding",'
        'code="201"}[1m]))[%v:5s])'
    ).replace("%v", "120s")
    samples = Samples(metrics_of(query))
    first = second = refused = 0
    # Two servers, scraped every 5 s: 4 and 2 bindings a second, and between 60 s and 80 s 10 and 20.
    for at_s in range(0, 121, 5):
        for instance, bound in (("a", first), ("b", second)):
            page = (
                f'apiserver_request_total{{code="201",resource="pods",subresource="binding",verb="POST"}} {bound}\n'
                f'apiserver_request_total{{code="409",resource="pods",subresource="binding",verb="POST"}} {refused}\n'
                f'apiserver_request_total{{code="201",resource="pods",subresource="",verb="POST"}} {refused}\n'
                "process_cpu_seconds_total 1\n"
            )
            samples.append(at_s * NS_PER_S, {"instance": instance}, page.encode())
        is_busy = 60 <= at_s < 80
        first += 50 if is_busy else 20
        second += 100 if is_busy else 10
        refused += 5000
    assert ask(samples, query, 120) == {"{}": pytest.approx(30)}
    assert ask(samples, query.replace("120s", "30s"), 120) == {"{}": pytest.approx(6)}


def test_the_buckets_of_the_schedulers_histograms() -> None:
    metric = "scheduler_framework_extension_point_duration_seconds_bucket"
    query = f'sum(increase({metric}{{extension_point="Filter"}}[60s])) by (le)'
    samples = Samples(metrics_of(query))
    for place in range(13):
        lines = [
            f'{metric}{{extension_point="{point}",profile="{profile}",le="{bound}"}} {place * count + 1000}'
            for point, counts in (("Filter", (10, 20, 20)), ("Score", (1, 1, 1)))
            for profile in ("default", "batch")
            for bound, count in zip(("0.001", "0.01", "+Inf"), counts, strict=True)
        ]
        samples.append(place * 5 * NS_PER_S, {"job": "kube-scheduler"}, "\n".join(lines).encode())
    # Two profiles that gain 10 and 20 every 5 s.
    assert ask(samples, query, 60) == pytest.approx({'{le="0.001"}': 240, '{le="0.01"}': 480, '{le="+Inf"}': 480})


def api_server() -> Samples:
    """A minute of requests: 100 fast reads a second, of which each tenth takes long, and few lists and watches."""
    samples = Samples()
    kinds = {
        'resource="pods",scope="resource",subresource="",verb="GET"': (90, 100, 100),
        'resource="pods",scope="cluster",subresource="",verb="LIST"': (0, 0, 2),
        'resource="pods",scope="resource",subresource="log",verb="GET"': (0, 0, 50),
        'resource="pods",scope="cluster",subresource="",verb="WATCH"': (0, 0, 50),
    }
    for at_s in range(0, 61, 5):
        lines = []
        for labels, counts in kinds.items():
            for bound, count in zip(("1", "30", "+Inf"), counts, strict=True):
                lines.append(f'{LATENCY}_bucket{{{labels},le="{bound}"}} {1_000_000 + count * at_s}')
            lines.append(f"{LATENCY}_count{{{labels}}} {1_000_000 + counts[-1] * at_s}")
        samples.append(at_s * NS_PER_S, {"job": "apiserver"}, "\n".join(lines).encode())
    return samples


def test_the_latency_of_api_calls() -> None:
    grouped = "by (resource,  subresource, verb, scope, le)"
    query = f"histogram_quantile(%s, sum(rate({LATENCY}_bucket{{{FILTERS}}}[60s])) {grouped})"
    samples = api_server()
    read, listed = (
        f'{{resource="pods", scope="{scope}", verb="{verb}"}}'
        for scope, verb in (("resource", "GET"), ("cluster", "LIST"))
    )
    # Half of 100 is 50 of the 90 within a second; 99 is 9 of the 10 between 1 s and 30 s; lists are beyond 30 s.
    assert ask(samples, query % "0.50", 60) == pytest.approx({read: 50 / 90, listed: 30})
    assert ask(samples, query % "0.99", 60) == pytest.approx({read: 1 + 29 * 0.9, listed: 30})


def test_the_number_of_api_calls_and_of_fast_ones() -> None:
    samples = api_server()
    grouped = "by (resource, subresource, scope, verb)"
    read, listed = (
        f'{{resource="pods", scope="{scope}", verb="{verb}"}}'
        for scope, verb in (("resource", "GET"), ("cluster", "LIST"))
    )
    assert ask(samples, f"sum(increase({LATENCY}_count{{{FILTERS}}}[60s])) {grouped}", 60) == pytest.approx(
        {read: 6000, listed: 120}
    )
    fast = 'verb!~"WATCH|LIST", subresource!="proxy", le="1"'
    logs = '{resource="pods", scope="resource", subresource="log", verb="GET"}'
    assert ask(samples, f"sum(increase({LATENCY}_bucket{{{fast}}}[60s])) {grouped}", 60) == pytest.approx(
        {read: 5400, logs: 0}
    )
    assert ask(
        samples, f'sum(increase({LATENCY}_bucket{{scope="cluster", verb="LIST", le="30"}}[60s])) {grouped}', 60
    ) == pytest.approx({listed: 0})


def test_bounds_of_buckets_are_found_as_prometheus_2_and_3_write_them() -> None:
    samples = Samples()
    lines = [f'h_bucket{{le="{bound}"}} {place}' for place, bound in enumerate(("0.5", "1", "10", "+Inf"))]
    samples.append(0, {}, "\n".join(lines).encode())
    for written in ("1", "1.0", "1e0"):
        assert ask(samples, f'h_bucket{{le="{written}"}}', 0) == {'h_bucket{le="1"}': 1}
        assert len(ask(samples, f'h_bucket{{le!="{written}"}}', 0)) == 3
    assert ask(samples, 'h_bucket{le=~"1|1[.]0"}', 0) == {'h_bucket{le="1"}': 1}
    assert ask(samples, 'h_bucket{le="+Inf"}', 0) == {'h_bucket{le="+Inf"}': 3}
    assert ask(samples, 'h_bucket{le="1s"}', 0) == {}
    # Other labels are texts.
    samples.append(1, {}, b'm{code="1"} 1')
    assert ask(samples, 'm{code="1.0"}', 1e-9) == {}


def test_matchers_are_of_whole_values_and_of_labels_that_are_not_there() -> None:
    samples = loaded(5, {'m{a="log",b="x"}': [1.0], 'm{a="login"}': [2.0], "m": [3.0]})

    def chosen(inner: str) -> list[float]:
        return sorted(ask(samples, f"m{{{inner}}}", 0).values())

    assert chosen('a=~"log|exec"') == [1]
    assert chosen('a!~"log|exec"') == [2, 3]
    assert chosen('a=~"lo"') == []
    assert chosen('a=~"lo.*"') == [1, 2]
    assert chosen('a=~".*"') == [1, 2, 3]
    assert chosen('a=~".+"') == [1, 2]
    assert chosen('a=""') == chosen('a!~".+"') == [3]
    assert chosen('a!="log"') == [2, 3]
    assert chosen('a=~"LOG"') == []
    assert chosen('a=~"(?i)LOG", b!=""') == [1]


def test_a_quantile_over_a_recorded_rule() -> None:
    rule = "apiserver:apiserver_request_latency_1m:histogram_quantile"
    samples = Samples()
    for place, latency_s in enumerate([0.1, 0.2, 0.3, 0.4, 9.0]):
        labels = {NAME: rule, "quantile": "0.99", "verb": "GET", "resource": "pods"}
        watch = {**labels, "verb": "WATCH"}
        samples.append(place * 30 * NS_PER_S, {}, [Sample(labels, latency_s), Sample(watch, 60.0)])
    query = f"quantile_over_time(0.99, {rule}{{{FILTERS}}}[5m])"
    # Rank 0.99 * 4 = 3.96: between 0.4 and 9.
    assert ask(samples, query, 120) == pytest.approx(
        {'{quantile="0.99", resource="pods", verb="GET"}': 0.4 * 0.04 + 9 * 0.96}
    )


def test_restarts_of_containers() -> None:
    samples = Samples()
    for at_s, start in ((0, 100), (10, 100), (20, 200), (30, 300)):
        page = f'container_start_time_seconds{{container="etcd",pod="etcd-0",namespace="kube-system"}} {start}'
        samples.append(at_s * NS_PER_S, {}, page.encode())
    labels = '{container="etcd", namespace="kube-system", pod="etcd-0"}'
    assert ask(samples, "changes(container_start_time_seconds[40s])", 30) == {labels: 2}


def test_the_lag_of_informers() -> None:
    query = (
        "quantile_over_time(0.50, (((scalar(max(etcd_debugging_mvcc_current_revision)) - max by (name) "
        '(informer_store_resource_version{resource="pods"})) / scalar(max(deriv('
        "etcd_debugging_mvcc_current_revision[30s])) > 0)))[91s:30s])"
    )
    samples = Samples(metrics_of(query))
    # The revision rises by 2 a second; the informer is 6 behind, at 90 s 20.
    for at_s in range(0, 121, 10):
        behind = 20 if at_s == 90 else 6
        page = (
            f"etcd_debugging_mvcc_current_revision {at_s * 2}\n"
            f'informer_store_resource_version{{name="kube-scheduler",resource="pods"}} {at_s * 2 - behind}\n'
            f'informer_store_resource_version{{name="kube-scheduler",resource="nodes"}} 1000000\n'
        )
        samples.append(at_s * NS_PER_S, {"job": "x"}, page.encode())
    labels = '{name="kube-scheduler"}'
    assert ask(samples, query, 120) == {labels: pytest.approx(3)}
    assert ask(samples, query.replace("0.50", "1"), 120) == {labels: pytest.approx(10)}


def test_a_share_of_failed_requests() -> None:
    query = 'sum(rate(m_total{code=~"5.."}[1m])) / sum(rate(m_total[1m])) * 100 or vector(0)'
    samples = Samples(metrics_of(query))
    assert ask(samples, query, 0) == {"{}": 0}
    for at_s in range(0, 61, 10):
        samples.append(
            at_s * NS_PER_S, {}, f'm_total{{code="200"}} {90 * at_s}\nm_total{{code="503"}} {10 * at_s}'.encode()
        )
    assert ask(samples, query, 60) == pytest.approx({"{}": 10})
