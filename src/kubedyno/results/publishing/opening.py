"""The place that a URL names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubedyno.kit.errors import UsageError
from kubedyno.results.publishing.buckets import Bucket
from kubedyno.results.publishing.folders import Folder
from kubedyno.results.publishing.places import Place

_S3: Final = "s3://"
_FILE: Final = "file://"


def open_place(url: str, env: Mapping[str, str]) -> Place:
    """The place of `s3://bucket/prefix`, of `file:///folder`, or of a folder; S3 is set up by AWS's usual variables."""
    if url.startswith(_S3):
        bucket, _, prefix = url.removeprefix(_S3).partition("/")
        if not bucket:
            raise UsageError(f"{url!r} names no bucket: write s3://BUCKET or s3://BUCKET/PREFIX")
        return Bucket.connect(bucket, prefix.strip("/"), env)
    if "://" in url and not url.startswith(_FILE):
        raise UsageError(f"{url!r} is no place for a store: write s3://BUCKET/PREFIX or a folder")
    return Folder(Path(url.removeprefix(_FILE)))
