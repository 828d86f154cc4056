"""Every namespace has a service account `default`: pods are refused until it is there."""

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import Engine
from kubedyno.controllers.podfacts import is_deleting
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kube.resources import NAMESPACES, SERVICE_ACCOUNTS

COMPONENT = "serviceaccount-controller"

_ACCOUNT = "default"


class ServiceAccountController:
    """Creates the default service account of namespaces, again when somebody deletes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._namespaces = engine.informer(NAMESPACES)
        self._accounts = engine.informer(SERVICE_ACCOUNTS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._namespaces.subscribe(self._namespace_changed)
        self._accounts.subscribe(self._account_changed)

    def start(self) -> None:
        """Work off namespaces."""
        self._engine.work(COMPONENT, self._queue, self._sync)

    def _namespace_changed(self, change: Change) -> None:
        if change.new is not None:
            self._queue.add(change.key)

    def _account_changed(self, change: Change) -> None:
        if change.new is None and change.key[1] == _ACCOUNT:
            self._queue.add(("", change.key[0]))

    async def _sync(self, key: Key) -> None:
        namespace = self._namespaces.get(key)
        if namespace is None or is_deleting(namespace) or self._accounts.get((key[1], _ACCOUNT)) is not None:
            return
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _ACCOUNT}}
        try:
            await self._engine.client.create(SERVICE_ACCOUNTS, account, namespace=key[1])
        except ApiError as error:
            is_terminating = any(cause.reason == "NamespaceTerminating" for cause in error.causes)
            if not (error.is_already_exists or error.is_not_found or is_terminating):
                raise
