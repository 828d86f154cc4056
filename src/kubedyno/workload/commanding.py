"""Submitting with a command line tool such as `runai`: what it is called with stands in the settings."""

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

from kubedyno.client.errors import shortened
from kubedyno.client.rest import Client
from kubedyno.workload.preparing import Prepared
from kubedyno.workload.processes import run
from kubedyno.workload.sending import Refused, Resources, Sent, look_up
from kubedyno.workload.templating import Template

_ERROR_LIMIT: Final = 400

Values = Callable[[int], dict[str, Any]]
"""What templates may use for the workload of an index."""


class CommandSender:
    """One process for each workload. The object that it makes is looked up by its name, if the kind is known."""

    def __init__(self, command: Sequence[str], values: Values, client: Client, resources: Resources) -> None:
        self._arguments = [Template(part, source=f"cli: {part}") for part in command]
        self._values = values
        self._client = client
        self._clock = client.clock
        self._resources = resources

    def command(self, workload: Prepared) -> list[str]:
        """What is run for a workload; arguments that come out empty stay, as the tool may count them."""
        values = self._values(workload.index)
        return [argument.render(values) for argument in self._arguments]

    async def send(self, workloads: Sequence[Prepared], *, again: bool = False) -> list[Sent]:
        """One after another."""
        return [await self._send(workload, again=again) for workload in workloads]

    async def _send(self, workload: Prepared, *, again: bool) -> Sent:
        before = await self._uid(workload) if again else None
        if before is not None:
            return Sent(accepted_ns=self._clock.wall_ns(), uid=before, found=True)
        command = self.command(workload)
        ended = await run(command)
        if ended.code != 0:
            said = shortened(ended.error or ended.out.decode(errors="replace"), _ERROR_LIMIT) or "nothing"
            return Sent(error=f"`{shlex.join(command)}` ended with {ended.code} and said: {said}")
        accepted_ns = self._clock.wall_ns()
        return Sent(accepted_ns=accepted_ns, uid=await self._uid(workload))

    async def _uid(self, workload: Prepared) -> str | None:
        """The uid of the workload's object; its name holds the id of the submission, so it is nobody else's."""
        document = workload.main_document
        resource = self._resources.get((document.api_version, document.kind))
        if resource is None:
            return None
        try:
            return await look_up(self._client, resource, document, submission=None)
        except Refused:
            return None
