"""`kubedyno submit`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from kubedyno.cli.selection import cluster_options

if TYPE_CHECKING:
    from kubedyno.lab.submitting import Asked
    from kubedyno.model.submissions import SubmittedFile
    from kubedyno.workload.submitting import Submission, Tally

Command = TypeVar("Command", bound=Callable[..., Any])

_TICK_S: Final = 0.25
_FIELDS: Final = {
    "workload_type": "workload_type",
    "num_workloads": "num_workloads",
    "num_processes": "num_processes",
    "num_workers": "num_workers",
    "num_gpus": "num_gpus",
    "delay": "delay_s",
    "pvc": "pvc",
    "projects": "projects",
    "count_per_project": "count_per_project",
    "namespace": "namespace",
    "template": "template",
    "fields": "fields",
    "via": "via",
    "arrival": "arrival",
    "rate": "rate_per_s",
    "burst": "burst",
    "steps": "steps",
    "trace": "trace",
    "parallelism": "parallelism",
    "duration": "duration_s",
    "seed": "seed",
}
"""Options, and the fields of the order that they are."""


def _load_options(command: Command) -> Command:
    """What is submitted."""
    options = [
        click.option(
            "-t",
            "--workload-type",
            type=click.Choice(["training", "distributed", "interactive"]),
            default="training",
            show_default=True,
            help="Type of the workloads.",
        ),
        click.option("-n", "--num-workloads", type=click.IntRange(min=1), help="How many workloads: exactly so many."),
        click.option(
            "--num-workers",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Worker pods of a distributed workload.",
        ),
        click.option(
            "-g", "--num-gpus", type=click.IntRange(min=0), default=1, show_default=True, help="GPUs of each pod."
        ),
        click.option("--pvc", is_flag=True, help="A volume claim goes before each workload, and its pods mount it."),
        click.option(
            "--project",
            "projects",
            multiple=True,
            help="Project to submit to; several, with commas or repeated, get workloads in turn.",
        ),
        click.option("--count-per-project", is_flag=True, help="-n counts for each project, not for all together."),
        click.option("--namespace", help="Namespace to submit to, instead of the one that belongs to the project."),
        click.option(
            "--scheduler",
            metavar="DIALECT",
            help="Write workloads for this: kube, kai, kueue, plugins, runai, job, jobset, pytorchjob, podgroup, "
            "pods. Default: that of the lab's scheduler, elsewhere job.",
        ),
        click.option(
            "--template",
            type=click.Path(path_type=Path),
            help="YAML of a workload, with Jinja values or without, instead of the dialect's own.",
        ),
        click.option(
            "--field",
            "fields",
            multiple=True,
            metavar="PATH=VALUE",
            help="Set any field of the workload, like spec.template.spec.priorityClassName=train; may be repeated.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _pace_options(command: Command) -> Command:
    """When it is submitted."""
    options = [
        click.option(
            "-p",
            "--num-processes",
            type=click.IntRange(min=1),
            default=8,
            show_default=True,
            help="Workloads of an iteration, submitted at once.",
        ),
        click.option(
            "--delay", default="0.0", show_default=True, help="Seconds from the end of an iteration to the next one."
        ),
        click.option("--rate", type=float, help="Workloads a second, whether earlier ones are answered or not."),
        click.option(
            "--arrival",
            type=click.Choice(["constant", "poisson", "burst", "stepped", "trace"]),
            help="How they arrive: constant (--rate), poisson (--rate), burst (--rate, --burst), stepped (--steps), "
            "trace (--trace).",
        ),
        click.option("--burst", type=click.IntRange(min=1), help="Workloads that come together."),
        click.option("--steps", metavar="RATE:TIME,...", help="Rates, and for how long each: 5:60s,10:60s."),
        click.option("--trace", type=click.Path(path_type=Path), help="File with a time in seconds for each workload."),
        click.option(
            "--parallelism",
            type=click.IntRange(min=1),
            help="Workloads in flight at most (with a rate: 64); without a rate so many all the time.",
        ),
        click.option("--duration", help="Begin no workload after this time, like 10m; the rest is left out."),
        click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn."),
        click.option(
            "--via",
            type=click.Choice(["api", "kubectl", "cli"]),
            help="How to submit: requests, kubectl, or the command in the settings. Default: api.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("submit")
@click.option("-o", "--output-dir", type=click.Path(path_type=Path), help="Folder that gets submitted.json.")
@_load_options
@_pace_options
@click.option("--resume", is_flag=True, help="Go on with the submission in the folder, without duplicates.")
@click.option("--print", "only_print", is_flag=True, help="Print the objects and send nothing.")
@click.option(
    "--settings",
    "settings_file",
    type=click.Path(path_type=Path),
    help="Settings file. Default: settings.yaml, if there is one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@cluster_options
def command(
    *,
    output_dir: Path | None,
    resume: bool,
    only_print: bool,
    settings_file: Path | None,
    as_json: bool,
    scheduler: str | None,
    kubeconfig: Path | None,
    context: str | None,
    name: str | None,
    **options: Any,
) -> None:
    """Submit workloads to a lab or cluster.

    Iterations of -p workloads at once, --delay after each has ended; or at a --rate. What was submitted is in
    submitted.json of the folder -o.
    """
    from kubedyno.kit.errors import UsageError
    from kubedyno.lab.selecting import Selection
    from kubedyno.lab.submitting import Asked
    from kubedyno.workload import settings

    if resume and only_print:
        raise UsageError("--print sends nothing, so there is nothing to --resume: give one of them")
    if output_dir is None and not only_print:
        raise UsageError("-o/--output-dir is missing: name the folder that gets submitted.json")
    given = _given(options)
    if "num_workloads" not in given and not resume:
        raise UsageError("-n/--num-workloads is missing: say how many workloads to submit")
    asked = Asked(
        given=given,
        settings=settings.load(settings_file),
        selection=Selection(kubeconfig=kubeconfig, context=context, name=name),
        scheduler=scheduler,
    )
    if output_dir is None or only_print:
        _print_objects(asked)
    else:
        _submit(asked, output_dir, resume=resume, as_json=as_json)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """What the command line names, as fields of the order."""
    from kubedyno.kit.units import parse_duration_s
    from kubedyno.workload.order import parse_steps

    def split(projects: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part.strip() for text in projects for part in text.split(",") if part.strip())

    reading: dict[str, Callable[[Any], Any]] = {
        "delay": parse_duration_s,
        "duration": parse_duration_s,
        "steps": parse_steps,
        "projects": split,
        "template": lambda path: str(path.absolute()),
        "trace": lambda path: str(path.absolute()),
    }
    context = click.get_current_context()
    return {
        field: reading.get(option, lambda value: value)(options[option])
        for option, field in _FIELDS.items()
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE
    }


def _print_objects(asked: "Asked") -> None:
    import yaml

    from kubedyno.lab import selecting, submitting

    what = submitting.ordered(asked, selecting.lab_of(asked.selection))
    writer = what.writer(_new_id())
    for index in range(what.order.total):
        for obj in writer.objects(index):
            click.echo(f"---\n{yaml.safe_dump(obj, sort_keys=False)}", nl=False)


def _submit(asked: "Asked", folder: Path, *, resume: bool, as_json: bool) -> None:
    from kubedyno.cli.progress import renderer
    from kubedyno.kit import tasks
    from kubedyno.kit.clock import RealClock
    from kubedyno.kit.progress import Progress
    from kubedyno.lab import submitting
    from kubedyno.workload.sending import resumable

    clock, progress = RealClock(), renderer()
    again = f"kubedyno submit --resume -o {folder}"
    sittings: list[Submission] = []

    async def tell(submission: "Submission", progress: Progress) -> None:
        begun_ns, before = clock.monotonic_ns(), submission.tally.done
        while True:
            await clock.sleep(_TICK_S)
            rate = (submission.tally.done - before) / max(1, clock.monotonic_ns() - begun_ns) * 1e9
            progress.note(_noted(submission.tally, rate))

    async def run() -> "SubmittedFile":
        opening = (
            submitting.resumed(asked, folder, clock=clock, progress=progress)
            if resume
            else submitting.begun(asked, folder, submission_id=_new_id(), clock=clock, progress=progress)
        )
        async with opening as sitting:
            submission = sitting.submission
            sittings.append(submission)
            progress.begin("submitting")
            try:
                with resumable(again):
                    async with tasks.owning() as group:
                        telling = group.create_task(tell(submission, progress))
                        await submission.run()
                        telling.cancel()
            finally:
                sitting.journal.write_file()
                progress.end(_noted(submission.tally, None))
            return sitting.journal.state.file()

    try:
        file = tasks.run(run)
    except tasks.Interrupted:
        if sittings:
            tally = sittings[0].tally
            click.echo(f"{tally.done} of {tally.total} workloads are on record: `{again}` goes on", err=True)
        raise
    _tell(file, sittings[0].tally, folder, as_json=as_json)


def _noted(tally: "Tally", rate: float | None) -> str:
    parts = [f"{tally.done} of {tally.total}"]
    if rate is not None:
        parts.append(f"{rate:.1f}/s")
    if tally.refused:
        parts.append(f"{tally.refused} refused")
    return ", ".join(parts)


def _tell(file: "SubmittedFile", tally: "Tally", folder: Path, *, as_json: bool) -> None:
    """One line of what was done, and an error if something was refused."""
    import msgspec

    from kubedyno.kit.errors import CheckFailed

    path = folder / "submitted.json"
    pace = file.pace
    if as_json:
        told = {
            "file": str(path),
            "id": file.id,
            "total": tally.total,
            "submitted": tally.done - tally.refused,
            "refused": tally.refused,
            "left_out": tally.left_out,
            "pace": pace,
            "simulated": file.simulated,
        }
        click.echo(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        rate = _paced(file)
        left = f", {tally.left_out} left out because the time was over" if tally.left_out else ""
        refused = f", {tally.refused} refused" if tally.refused else ""
        click.echo(f"{path}: {tally.done - tally.refused} of {tally.total} workloads submitted{rate}{refused}{left}")
    if pace is not None and pace.limited:
        asked = f"{pace.asked_per_s:.1f}" if pace.asked_per_s is not None else "?"
        click.echo(
            f"the submitter was the limit: {asked} a second were asked for and {pace.achieved_per_s:.1f} achieved, "
            f"starts were up to {pace.late_p99_s * 1000:.0f} ms late (p99)",
            err=True,
        )
    if tally.refused:
        raise CheckFailed(f"{tally.refused} of {tally.total} workloads were refused; the first: {tally.first_refusal}")


def _paced(file: "SubmittedFile") -> str:
    """How long it took, and the rate where that means something: not for a handful that was sent at once."""
    from kubedyno.kit.units import format_duration

    if not file.workloads:
        return ""
    span_s = (file.workloads[-1].t_submit - file.workloads[0].t_submit) / 1e9
    rate = f", {file.pace.achieved_per_s:.1f} a second" if file.pace is not None and span_s > 1 else ""
    return f" in {format_duration(span_s)}{rate}"


def _new_id() -> str:
    """A short id that begins with a letter, so that YAML takes it for text."""
    import secrets
    import string

    letters = string.ascii_lowercase
    return secrets.choice(letters) + "".join(secrets.choice(letters + string.digits) for _ in range(5))
