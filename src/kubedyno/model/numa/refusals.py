"""Why a kubelet turns a pod away: the reason and the text of its status."""

TOPOLOGY_AFFINITY = "TopologyAffinityError"
SMT_ALIGNMENT = "SMTAlignmentError"
UNEXPECTED = "UnexpectedAdmissionError"


class Refused(Exception):
    """Ends the admission of one pod; `admission.admit` turns it into a value."""

    def __init__(self, reason: str, message: str) -> None:
        """`reason` is status.reason, `message` the text of the event."""
        super().__init__(message)
        self.reason = reason
        self.message = message


def unaligned() -> Refused:
    """No hint that the policy admits."""
    return Refused(TOPOLOGY_AFFINITY, "Resources cannot be allocated with Topology locality")


def failed(cause: str) -> Refused:
    """A manager could not give what the hints promised."""
    return Refused(UNEXPECTED, f"Allocate failed due to {cause}, which is unexpected")


def partial_core(requested: int, per_core: int) -> Refused:
    """full-pcpus-only, and the request is no number of whole cores."""
    return Refused(
        SMT_ALIGNMENT, f"SMT Alignment Error: requested {requested} cpus not multiple cpus per core = {per_core}"
    )


def too_few_cores(requested: int, per_core: int, available: int) -> Refused:
    """full-pcpus-only, and too few CPUs are in cores that hold nothing reserved."""
    return Refused(
        SMT_ALIGNMENT,
        "SMT Alignment Error: not enough free physical CPUs: "
        f"available physical CPUs = {available}, requested CPUs = {requested}, CPUs per core = {per_core}",
    )
