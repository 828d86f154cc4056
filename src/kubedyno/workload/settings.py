"""The settings file, `settings.yaml`: what is seldom changed, field by field. The command line goes over it."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec
from kubedyno.model.submissions import WorkloadType
from kubedyno.workload.order import Via

DEFAULT_FILE: Final = Path("settings.yaml")
"""Read from the working folder if it is there and no other is named."""

Resolution: TypeAlias = Literal["full", "1s"]

_RUNAI: Final[dict[WorkloadType, tuple[str, ...]]] = {
    "training": ("submit",),
    "interactive": ("submit", "--interactive"),
    "distributed": ("submit-dist", "pytorch", "--workers", "{{ workers }}"),
}
_RUNAI_OPTIONS: Final = (
    "--name",
    "{{ name }}",
    "--project",
    "{{ project }}",
    "--image",
    "{{ image }}",
    "--gpu",
    "{{ gpus }}",
)


def _runai(workload_type: WorkloadType) -> tuple[str, ...]:
    return ("runai", *_RUNAI[workload_type], *_RUNAI_OPTIONS)


class Commands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a command line tool is called, one argument after another, with the values of templates."""

    training: Annotated[tuple[str, ...], Meta(description="The command for a training workload.")] = _runai("training")
    distributed: Annotated[tuple[str, ...], Meta(description="The command for a distributed workload.")] = _runai(
        "distributed"
    )
    interactive: Annotated[tuple[str, ...], Meta(description="The command for an interactive workload.")] = _runai(
        "interactive"
    )


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`settings.yaml`."""

    via: Annotated[
        Via,
        Meta(
            description="How workloads are submitted: `api` (requests to the API server), `kubectl` (a process of it), "
            "`cli` (the command in `cli`)."
        ),
    ] = "api"
    project: Annotated[
        str | None, Meta(description="Project to submit to, or several with commas; null: the dialect's default.")
    ] = None
    namespace: Annotated[
        str | None, Meta(description="Namespace to submit to; null: the one that belongs to the project.")
    ] = None
    scheduler: Annotated[
        str | None,
        Meta(description="Dialect to write workloads in; null: that of the lab's scheduler, elsewhere `job`."),
    ] = None
    scheduler_name: Annotated[
        str | None, Meta(description="What pods say in `spec.schedulerName`; null: that of the lab or the dialect.")
    ] = None
    image: Annotated[str, Meta(description="Image of the containers; simulated nodes run any.")] = "simulated"
    kubectl: Annotated[
        str | None, Meta(description="The program for `via: kubectl`; null: from PATH, else the lab's own.")
    ] = None
    kubectl_batch: Annotated[
        int, Meta(ge=1, description="Workloads that one process of kubectl submits, with `via: kubectl`.")
    ] = 1
    cli: Annotated[Commands, Meta(description="The commands for `via: cli`, by type of workload.")] = Commands()
    resolution: Annotated[
        Resolution, Meta(description="Of times in `times.csv`: `full`, or `1s` for whole seconds.")
    ] = "full"
    backend_times: Annotated[
        bool, Meta(description="Whether `sample` asks `backend_source` for further times of each workload.")
    ] = False
    backend_source: Annotated[
        str | None,
        Meta(description="`package.module:function` that gives times of a backend, by workload and name of the time."),
    ] = None
    scheduling_details: Annotated[
        bool, Meta(description="Whether `plot` draws the detailed plot unless `--plot` says otherwise.")
    ] = False


def load(path: Path | None) -> Settings:
    """The settings of a file; without one `settings.yaml` of the working folder, if it is there, else all defaults."""
    if path is None and not DEFAULT_FILE.exists():
        return Settings()
    file = path or DEFAULT_FILE
    try:
        text = file.read_bytes()
    except OSError as error:
        raise UsageError(f"--settings {file}: {error.strerror}; name a settings file") from error
    return read(text, source=str(file))


def read(text: str | bytes, *, source: str) -> Settings:
    """The settings in a text; `source` names it in errors."""
    documents = codec.read_yaml(text, source=source)
    if len(documents) > 1:
        raise UsageError(f"{source}: it holds {len(documents)} documents; settings are one")
    given = documents[0] if documents else {}
    _refuse_unknown(given, Settings, source)
    _refuse_unknown(given.get("cli"), Commands, f"{source}: cli")
    try:
        settings = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        field = f"{where.rstrip('`')}: " if where else ""
        raise UsageError(f"{source}: {field}{what[0].lower()}{what[1:]}") from error
    return checked(settings, source=source)


def checked(settings: Settings, *, source: str) -> Settings:
    """The settings, if they do not contradict themselves."""
    if settings.backend_times and settings.backend_source is None:
        raise UsageError(
            f"{source}: backend_times is on, but no backend_source says where they come from: "
            "name a function like `package.module:function`, or switch backend_times off"
        )
    for name in msgspec.structs.fields(Commands):
        if not getattr(settings.cli, name.name):
            raise UsageError(f"{source}: cli.{name.name}: it is empty; write a program and its arguments")
    return settings


def _refuse_unknown(given: Any, kind: type[msgspec.Struct], where: str) -> None:
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in given if isinstance(given, dict) else ():
        if key not in known:
            raise UsageError(f"{where}: {key}: there is no such setting; {suggestion(key, known)}")
