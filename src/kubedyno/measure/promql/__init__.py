"""PromQL over samples that were scraped by ourselves, without a Prometheus server. Pure.

    samples = Samples(metrics_of(query))
    samples.append(at_ns, {"job": "apiserver"}, page)
    samples.query(query, at_ns)

The rules are those of Prometheus 3: a range is open at its left end, an instant selector looks back five minutes, a
series ends when a scrape does not have it any more. Native histograms, `@` and functions of calendars are left out;
what is left out is refused by name.
"""

from kubedyno.measure.promql.parsing import metrics_of
from kubedyno.measure.promql.series import Samples
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector

__all__ = ["NAME", "Labels", "Sample", "Samples", "Vector", "metrics_of"]
