"""`kubedyno setup`: have the programs ready before they are needed."""

import os
from collections.abc import Sequence
from pathlib import Path

import click


@click.command("setup")
@click.argument("components", metavar="[COMPONENT]...", nargs=-1)
@click.option(
    "--bin-dir",
    type=click.Path(path_type=Path),
    help="Folder with programs to use instead of what kubedyno would find or make.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(components: Sequence[str], bin_dir: Path | None, as_json: bool) -> None:
    """Find, download or build programs: all of them, or the COMPONENTs named.

    A COMPONENT is a program (kube-apiserver) or a group (kai). What is already there costs nothing, and an
    interrupted setup is continued by the next one.
    """
    import msgspec

    from kubedyno.cli.progress import renderer
    from kubedyno.kit.places import cache_dir
    from kubedyno.kit.tasks import run
    from kubedyno.kit.units import format_bytes
    from kubedyno.plane.programs import PROGRAMS
    from kubedyno.plane.provisioning import disk_usage, provide

    cache = cache_dir()
    found = run(
        lambda: provide(
            components or tuple(PROGRAMS), bin_dir=bin_dir, cache=cache, env=os.environ, progress=renderer()
        )
    )
    used_bytes = disk_usage(cache)
    if as_json:
        result = {"programs": list(found.values()), "cache": str(cache), "disk_bytes": used_bytes}
        click.echo(msgspec.json.format(msgspec.json.encode(result, enc_hook=str)))
        return
    rows = [("PROGRAM", "VERSION", "SOURCE", "PATH", "SECONDS")]
    rows += [
        (item.name, item.version, item.source, str(item.path), f"{item.took_s:.1f}" if item.took_s else "-")
        for item in found.values()
    ]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    click.echo(f"{format_bytes(used_bytes)} used in {cache}")
