"""Which functions and aggregations there are, and what they take. Data: what they do is in `functions`."""

from typing import Final

import msgspec

from kubedyno.measure.promql.nodes import Kind


class Signature(msgspec.Struct, frozen=True):
    """Kinds of the arguments, and of the result."""

    takes: tuple[Kind, ...]
    gives: Kind = "vector"
    optional: int = 0
    """How many of the last arguments may be left out."""
    repeats: bool = False
    """The last argument may stand any number of times."""


_WINDOWS: Final = Signature(("matrix",))
_VECTOR: Final = Signature(("vector",))

FUNCTIONS: Final[dict[str, Signature]] = {
    **dict.fromkeys(
        (
            *("rate", "irate", "increase", "delta", "idelta", "deriv", "changes", "resets", "absent_over_time"),
            *("max_over_time", "min_over_time", "avg_over_time", "sum_over_time", "count_over_time"),
            *("last_over_time", "present_over_time", "stddev_over_time", "stdvar_over_time"),
        ),
        _WINDOWS,
    ),
    **dict.fromkeys(
        (
            *("abs", "ceil", "floor", "exp", "ln", "log2", "log10", "sqrt", "sgn"),
            *("timestamp", "sort", "sort_desc", "absent"),
        ),
        _VECTOR,
    ),
    "quantile_over_time": Signature(("scalar", "matrix")),
    "histogram_quantile": Signature(("scalar", "vector")),
    "round": Signature(("vector", "scalar"), optional=1),
    "clamp": Signature(("vector", "scalar", "scalar")),
    "clamp_min": Signature(("vector", "scalar")),
    "clamp_max": Signature(("vector", "scalar")),
    "scalar": Signature(("vector",), gives="scalar"),
    "vector": Signature(("scalar",)),
    "time": Signature((), gives="scalar"),
    "label_replace": Signature(("vector", "string", "string", "string", "string")),
    "label_join": Signature(("vector", "string", "string", "string"), optional=1, repeats=True),
}

AGGREGATIONS: Final[dict[str, Kind | None]] = {
    **dict.fromkeys(("sum", "min", "max", "avg", "count", "group", "stddev", "stdvar")),
    **dict.fromkeys(("topk", "bottomk", "quantile"), "scalar"),
    "count_values": "string",
}
"""What stands before the vector: None for nothing."""
