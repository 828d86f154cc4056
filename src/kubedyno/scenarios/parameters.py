"""Types of the parameters that many scenarios share, with their ranges."""

from typing import Annotated

from kubedyno.lab.scenario import Range

NodeCount = Annotated[int, Range(2, 50_000)]
Share = Annotated[float, Range(0.0, 10.0)]
"""A share of something; more than 1 is more than there is."""
Rate = Annotated[float, Range(0.0, 10_000.0)]
"""So many a second."""
Seconds = Annotated[float, Range(1.0, 86_400.0)]
Count = Annotated[int, Range(1, 100_000)]
