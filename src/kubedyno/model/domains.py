"""Topology domains: how few a gang could be in, and how many it is in."""

from collections import Counter
from collections.abc import Iterable, Mapping

from kubedyno.model.feasibility import fitting


def fewest_domains(free_by_domain: Mapping[str, int], pods: int) -> int | None:
    """The least number of domains that hold so many alike pods, each with so many places; None: all have too few."""
    missing, domains = pods, 0
    for places in sorted(free_by_domain.values(), reverse=True):
        if missing <= 0:
            break
        missing -= max(places, 0)
        domains += 1
    return domains if missing <= 0 else None


def places_by_domain(free: Mapping[str, int], domain_of: Mapping[str, str], gpus: int) -> dict[str, int]:
    """How many pods of so many GPUs each domain can hold; nodes without a domain count for none."""
    places: Counter[str] = Counter()
    for node, domain in domain_of.items():
        places[domain] += fitting({node: free.get(node, 0)}, gpus)
    return dict(places)


def spanned(nodes: Iterable[str], domain_of: Mapping[str, str]) -> dict[str, int]:
    """How many of the pods on these nodes are in each domain."""
    return dict(Counter(domain_of[node] for node in nodes if node in domain_of))
