"""A request that the server refuses, as the Status that it answers."""

from kubedyno.kube.status import Status


class Refused(Exception):
    """The request is refused with this Status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status
