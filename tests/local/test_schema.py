"""The table of types is what the real API server says."""

import pytest

from kubedyno.client.documents import openapi_documents
from kubedyno.kube import openapi, resources, schema
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local


async def test_the_table_has_not_drifted_from_the_server(shared_lab: RunningLab) -> None:
    documents = await openapi_documents(shared_lab.client, resources.api_versions())
    expected = openapi.text(openapi.table(documents), schema.kubernetes_version())
    kept = schema._TABLE.read_text()
    assert kept.splitlines() == expected.splitlines(), "run scripts/schema and look at what changed"
