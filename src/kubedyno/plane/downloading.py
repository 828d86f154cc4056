"""Downloading official releases, checked against their published checksums.

A download is a short cut: without it the same version is built. So anything the network does wrong falls through
to building with a note, and a network that does not answer is asked once: the first dead host ends all
downloading of this run, after `PATIENCE_S` at most. The one thing that never falls through is a wrong checksum.

`KUBEDYNO_RELEASES_URL` names a mirror that serves the files under their upstream paths
(`<url>/release/v1.36.3/bin/linux/amd64/kubectl`); the value `off` disables downloading.
"""

import asyncio
import contextlib
import hashlib
import io
import shutil
import socket
import sys
import tarfile
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from kubedyno.kit.errors import ProgramError
from kubedyno.plane.layout import put_in_place, release_dir, work_dir
from kubedyno.plane.probing import machine_arch
from kubedyno.plane.programs import Program, Release

PATIENCE_S = 5.0

_CHUNK_BYTES = 1 << 20
_CHECKSUM_BYTES_MAX = 1 << 20
_SHA256_HEX = 64


class Unavailable(Exception):
    """This file cannot be had; the text says why, as a part of a sentence."""


class DeadNetwork(Unavailable):
    """The host cannot be reached: asking it for other files would only cost time."""


class Downloads:
    """The downloads of one setup. Only for the holder of the cache's lock.

    `over` is None while downloading makes sense, else why it does not.
    """

    def __init__(self, *, cache: Path, env: Mapping[str, str], patience_s: float = PATIENCE_S) -> None:
        self._cache = cache
        self._mirror = env.get("KUBEDYNO_RELEASES_URL", "").rstrip("/")
        self._patience_s = patience_s
        self.over: str | None = None
        if self._mirror == "off":
            self.over = "switched off by KUBEDYNO_RELEASES_URL"

    def offers(self, program: Program) -> bool:
        """Whether it is worth asking for this program."""
        return self.over is None and program.release is not None and sys.platform == "linux"

    async def fetch(self, program: Program) -> Path:
        """The program's official release at its final path, else `Unavailable` with the reason."""
        if program.release is None or not self.offers(program):
            raise Unavailable(self.over or f"{program.name} has no official release for this system")
        release = program.release
        url = self._url(release, release.path, program)
        folder = _fresh(work_dir(self._cache) / f"download-{program.name}")
        timeout = aiohttp.ClientTimeout(total=None, sock_read=self._patience_s)
        connector = aiohttp.TCPConnector(resolver=_DaemonResolver())
        try:
            async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=True) as session:
                checksums = await self._text(session, self._url(release, release.checksum_path, program))
                wanted = _checksum_for(url.rsplit("/", 1)[1], checksums)
                if wanted is None:
                    raise Unavailable(f"no checksum is published for {url}")
                got = await self._save(session, url, folder / "file")
        except DeadNetwork as dead:
            self.over = str(dead)
            raise
        if got != wanted:
            raise ProgramError(
                f"{url} has the SHA-256 sum {got}, but {wanted} is published for it: do not use that source; set"
                " KUBEDYNO_RELEASES_URL=off to build the program instead"
            )
        made = folder / "file"
        if release.member:
            made = _unpacked(made, release.member.format(**_values(program)), folder / "program")
        target = release_dir(program, self._cache) / program.name
        put_in_place(made, target)
        shutil.rmtree(folder)
        return target

    def _url(self, release: Release, path: str, program: Program) -> str:
        return f"{self._mirror or release.base}/{path.format(**_values(program))}"

    async def _text(self, session: aiohttp.ClientSession, url: str) -> str:
        async with self._answer(session, url) as response:
            return (await response.content.read(_CHECKSUM_BYTES_MAX)).decode(errors="replace")

    async def _save(self, session: aiohttp.ClientSession, url: str, path: Path) -> str:
        """Write the file and return its SHA-256 sum."""
        digest = hashlib.sha256()
        with _created(path) as file:
            async with self._answer(session, url) as response:
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    digest.update(chunk)
                    file.write(chunk)
        return digest.hexdigest()

    @contextlib.asynccontextmanager
    async def _answer(self, session: aiohttp.ClientSession, url: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """A successful response; every way to fail becomes `Unavailable`."""
        host = url.split("/")[2]
        try:
            async with asyncio.timeout(self._patience_s):
                response = await session.get(url)
        except TimeoutError:
            raise DeadNetwork(f"{host} does not answer within {self._patience_s:.0f} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise DeadNetwork(f"{host} cannot be reached ({error})") from error
        try:
            async with response:
                if response.status != 200:  # noqa: PLR2004 - OK
                    raise Unavailable(f"{url} answers {response.status}")
                yield response
        except TimeoutError:
            raise DeadNetwork(f"{host} stops answering for {self._patience_s:.0f} s") from None
        except aiohttp.ClientError as error:
            raise Unavailable(f"{url} ends early ({error})") from error


class _DaemonResolver(AbstractResolver):
    """Names to addresses in threads that nobody waits for: a name service may hang far beyond our patience.

    The loop's own resolver uses a pool whose threads are joined at the end of the process.
    """

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """All stream addresses of `host`."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[ResolveResult]] = loop.create_future()

        def look_up() -> None:
            addresses: list[ResolveResult] = []
            failure: OSError | None = None
            try:
                for kind, _, proto, _, address in socket.getaddrinfo(host, port, family, socket.SOCK_STREAM):
                    addresses.append(
                        ResolveResult(
                            hostname=host,
                            host=str(address[0]),
                            port=port,
                            family=kind,
                            proto=proto,
                            flags=socket.AI_NUMERICHOST,
                        )
                    )
            except OSError as error:
                failure = error

            def settle() -> None:
                if answer.done():
                    return
                if failure is not None:
                    answer.set_exception(failure)
                else:
                    answer.set_result(addresses)

            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody asks any more
                loop.call_soon_threadsafe(settle)

        threading.Thread(target=look_up, name=f"resolve-{host}", daemon=True).start()
        return await answer

    async def close(self) -> None:
        """Nothing is held."""


def _values(program: Program) -> dict[str, str]:
    return {"version": program.version, "arch": machine_arch(), "name": program.name}


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _created(path: Path) -> IO[bytes]:
    return path.open("xb")


def _checksum_for(file: str, checksums: str) -> str | None:
    """The sum of `file` in a list of `<sum>  <file>` lines, or the only sum where it stands alone."""
    for line in checksums.splitlines():
        fields = line.split()
        if fields and len(fields[0]) == _SHA256_HEX and (len(fields) == 1 or fields[1].lstrip("*") == file):
            return fields[0].lower()
    return None


def _unpacked(archive: Path, member: str, target: Path) -> Path:
    """Copy the program out of the archive; only this one file, so that no other can be written anywhere."""
    try:
        with tarfile.open(archive) as tar, tar.extractfile(member) or io.BytesIO() as source, _created(target) as file:
            shutil.copyfileobj(source, file)
    except (KeyError, tarfile.TarError) as error:
        raise Unavailable(f"the downloaded archive has no {member} ({error})") from error
    return target
