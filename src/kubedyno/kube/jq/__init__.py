"""jq as gojq understands it: the part that selectors and expressions of KWOK's stages are written in.

    query = compile('.status.conditions[] | select(.type == "Ready") | .status')
    list(query.run(node))

Queries are bounded (steps, depth, size of what they build) and cannot reach anything but the value they are given:
no input, no environment, no clock.
"""

from kubedyno.kube.jq.errors import EvaluationError, QueryError, QueryLimit
from kubedyno.kube.jq.query import Query, compile  # noqa: A004  # jq.compile reads as re.compile does

__all__ = ["EvaluationError", "Query", "QueryError", "QueryLimit", "compile"]
