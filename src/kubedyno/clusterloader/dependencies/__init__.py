"""Dependencies by their names in configs."""

from collections.abc import Mapping
from typing import Final

from kubedyno.clusterloader.dependencies.depending import Kind
from kubedyno.clusterloader.dependencies.dra_test_driver import DRA_TEST_DRIVER
from kubedyno.clusterloader.dependencies.kwok_dra import KWOK_DRA

DEPENDENCIES: Final[Mapping[str, Kind]] = {
    "kwok-dra": KWOK_DRA,
    "DRAKWOKDriver": KWOK_DRA,  # the name that its code gives it; the other one is that of its documents
    "DRATestDriver": DRA_TEST_DRIVER,
}
