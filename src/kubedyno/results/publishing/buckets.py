"""A store in a bucket of S3: Amazon's, or whoever speaks its protocol."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store

from kubedyno.kit.errors import UsageError
from kubedyno.results.publishing.places import Stored, StoreError

_TRIES: Final = 4
_TRYING_S: Final = 30
_CONNECTED_WITHIN_S: Final = 10
_ANSWERED_WITHIN_S: Final = 60
"""Of one request; large files go in parts, each of which is a request."""
_TYPES: Final = {
    ".css": "text/css",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".log": "text/plain; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".xml": "application/xml",
}
_DELETED_AT_ONCE: Final = 500
_NO_BUCKET: Final = "NoSuchBucket"


class Bucket:
    """A place on S3, below a prefix of a bucket."""

    def __init__(self, store: S3Store, url: str) -> None:
        self._store = store
        self._url = url

    @classmethod
    def connect(cls, bucket: str, prefix: str, env: Mapping[str, str]) -> "Bucket":
        """The bucket with region, endpoint and credentials of the environment (AWS_*); nothing is asked of it yet."""
        endpoint = env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL")
        options: dict[str, Any] = {
            "region": env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1",
            "client_options": {
                "allow_http": bool(endpoint and endpoint.startswith("http://")),
                "connect_timeout": timedelta(seconds=_CONNECTED_WITHIN_S),
                "timeout": timedelta(seconds=_ANSWERED_WITHIN_S),
            },
            "retry_config": {"max_retries": _TRIES, "retry_timeout": timedelta(seconds=_TRYING_S)},
        }
        if endpoint:
            # Servers of one's own seldom have a name for each bucket.
            options |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
        named = {
            "access_key_id": env.get("AWS_ACCESS_KEY_ID"),
            "secret_access_key": env.get("AWS_SECRET_ACCESS_KEY"),
            "session_token": env.get("AWS_SESSION_TOKEN"),
        }
        options |= {name: value for name, value in named.items() if value}
        url = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        try:
            return cls(S3Store(bucket, prefix=prefix or None, **options), url)
        except BaseError as error:
            raise UsageError(
                f"{url} cannot be used: {_said(error)}; set AWS's variables as its own tools need them"
            ) from error

    @property
    def url(self) -> str:
        """Where it is."""
        return self._url

    async def read(self, name: str) -> Stored | None:
        """What lies under a name, and its mark; None: nothing."""
        with self._told(name):
            try:
                found = await self._store.get_async(name)
                return Stored(bytes(await found.bytes_async()), found.meta["e_tag"] or "")
            except (FileNotFoundError, NotFoundError) as error:
                if _NO_BUCKET in str(error):
                    raise
                return None

    async def write(self, name: str, source: bytes | Path) -> None:
        """Put bytes or a file under a name."""
        with self._told(name):
            await self._store.put_async(name, source, attributes=_attributes(name))

    async def replace(self, name: str, data: bytes, *, mark: str | None) -> bool:
        """Write if nobody else did since the mark; whether it was written."""
        with self._told(name):
            try:
                await self._store.put_async(
                    name,
                    data,
                    attributes=_attributes(name),
                    mode="create" if mark is None else {"e_tag": mark},
                    use_multipart=False,
                )
            except (AlreadyExistsError, PreconditionError, FileNotFoundError, NotFoundError):
                return False
        return True

    async def names(self, below: str) -> list[str]:
        """All names in a folder and below it."""
        with self._told(below):
            return [str(found["path"]) async for page in self._store.list(f"{below}/") for found in page]

    async def delete(self, names: list[str]) -> None:
        """Delete what lies under these names."""
        with self._told(names[0] if names else ""):
            for start in range(0, len(names), _DELETED_AT_ONCE):
                await self._store.delete_async(names[start : start + _DELETED_AT_ONCE])

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise StoreError(
                f"the store {self._url} did not take or give {name}: {_said(error)}; {_remedy(error)}"
            ) from error


def _said(error: Exception) -> str:
    """What the library says, without what only its authors read."""
    return str(error).split("\n\nDebug source", maxsplit=1)[0].strip()


def _remedy(error: Exception) -> str:
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy"
    if _NO_BUCKET in str(error):
        return "check the name of the bucket"
    return "check AWS_ENDPOINT_URL, AWS_REGION and the network, and try again"


def _attributes(name: str) -> dict[str, str]:
    kind = _TYPES.get(Path(name).suffix, "application/octet-stream")
    # A manifest or an index that a browser has is out of date with the next run.
    lasting = "no-cache" if name.endswith("manifest.json") or "/index/" in name else "max-age=3600"
    return {"Content-Type": kind, "Cache-Control": lasting}
