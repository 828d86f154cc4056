"""The entries: each simulated operator by itself, until it is cancelled."""

from collections.abc import Callable
from functools import partial

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import Controller, Engine, operate
from kubedyno.controllers.operators.pytorch import TrainingOperator
from kubedyno.controllers.operators.runai import RunaiOperator
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit.clock import Clock

_FIRST_WAIT_S = 0.05
_MOST_WAIT_S = 5.0


async def run_training_operator(client: Client, *, clock: Clock, seed: int) -> None:
    """Look after PyTorchJobs."""
    await _while_served(TrainingOperator, client, clock=clock, seed=seed)


async def run_runai_operator(client: Client, *, clock: Clock, seed: int, scheduler_name: str) -> None:
    """Look after Run:ai's workloads; pods whose workload names no scheduler are for `scheduler_name`."""
    await _while_served(partial(RunaiOperator, scheduler_name=scheduler_name), client, clock=clock, seed=seed)


async def _while_served(make: Callable[[Engine], Controller], client: Client, *, clock: Clock, seed: int) -> None:
    """Operate whenever the server has the kinds: their definitions may come later, go, and come again."""
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            await operate((make,), client, clock=clock, seed=seed, settings=ControllerSettings())
        except ApiError as error:
            if not error.is_not_found:
                raise
        await clock.sleep(wait_s)
        wait_s = min(wait_s * 2, _MOST_WAIT_S)
