"""The named columns of the `times.csv` that `kubedyno plot` writes: one line per submitted workload."""

from collections.abc import Iterator
from typing import Final

from kubedyno.measure.columns import Column
from kubedyno.model.lifecycles import STEPS, SUBMITTED

INFORMATION: Final = (
    Column("name", "string", "Name of the workload."),
    Column("kind", "string", "Kind of its main object."),
    Column("namespace", "string", "Its namespace."),
    Column("project", "string", "The project that it was submitted to."),
    Column("queue", "string", "The queue that the project is in this dialect."),
    Column("gpus", "int64", "GPUs per pod."),
    Column("workers", "int64", "Worker pods that were asked for."),
    Column("pods", "int64", "How many pods were seen; empty: it was not sampled yet."),
    Column("gang", "int64", "How many of them must run together; 1: each for itself."),
    Column("uid", "string", "uid of its main object; empty: it was refused."),
    Column("template_hash", "string", "SHA-256 of the template's text, in hexadecimal."),
    Column("refused", "string", "Why it was refused; empty: it was not."),
    Column("errors", "string", "What is wrong with its times, separated by semicolons; empty: nothing."),
    Column("evictions", "int64", "How many of its pods were evicted."),
    Column("evicted_by", "string", "By whom, separated by semicolons."),
    Column("planned", "float64", "When it was to be submitted, seconds since the epoch."),
)


def _of_steps() -> Iterator[Column]:
    for step in STEPS.values():
        yield Column(step.name, "float64", f"When: {step.title}; seconds since the epoch, empty: never seen.")
        yield Column(f"{step.name}_lower", "float64", "It was not before this, seconds since the epoch.")
        yield Column(f"{step.name}_upper", "float64", "It was not after this, seconds since the epoch.")
        if step.name != SUBMITTED:
            yield Column(f"{step.name}_delta", "float64", "Seconds since the last of the steps before it that it has.")


BACKEND: Final = "backend_"
"""After the columns below comes one for each time that a backend told of any workload, its name after this."""

COLUMNS: Final[tuple[Column, ...]] = (
    *INFORMATION,
    *_of_steps(),
    Column("last_step", "string", "The last step that it has."),
    Column("total", "float64", "Seconds from `submitted` to that step."),
)
