"""The table of types is what the real API server and its Go structs say."""

import os
import subprocess
from pathlib import Path

import pytest

from kubedyno.client.documents import openapi_documents
from kubedyno.kit.places import cache_dir
from kubedyno.kube import gostructs, openapi, resources, schema
from kubedyno.lab.starting import RunningLab
from kubedyno.plane.toolchain import Toolchain, find_toolchain

pytestmark = pytest.mark.local


async def test_the_table_has_not_drifted_from_the_server(shared_lab: RunningLab) -> None:
    documents = await openapi_documents(shared_lab.client, resources.api_versions())
    expected = openapi.text(openapi.table(documents), schema.kubernetes_version())
    table = schema._table()
    told_by_server = {
        "kinds": table.kinds,
        "atomic": table.atomic,
        "types": gostructs.without_presences(table.types),
    }
    kept = openapi.text(told_by_server, table.kubernetes)
    assert kept.splitlines() == expected.splitlines(), "run scripts/schema and look at what changed"


def module_cache(toolchain: Toolchain) -> Path:
    asked = [str(toolchain.go), "env", "GOMODCACHE"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True, env=toolchain.env).stdout.strip())


async def test_the_table_has_not_drifted_from_the_go_structs() -> None:
    toolchain = await find_toolchain(cache=cache_dir(), env=os.environ)
    if toolchain is None:
        pytest.skip("no Go here: nothing is known of its modules")
    table = schema._table()
    sources = gostructs.read_sources(table.types, module_cache(toolchain), table.kubernetes)
    if not sources:
        pytest.skip("the programs were not built here: the sources of the server are not there")
    made = gostructs.with_presences(gostructs.without_presences(table.types), sources)
    assert made == table.types, "run scripts/schema and look at what changed"
