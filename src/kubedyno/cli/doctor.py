"""`kubedyno doctor`."""

import os
import sys
from pathlib import Path

import click


@click.command("doctor")
@click.option("--bin-dir", type=click.Path(path_type=Path), help="A folder with programs to prefer.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(*, bin_dir: Path | None, as_json: bool) -> None:
    """What this machine can run, and what to do about the rest.

    Exit code 0 when a lab can run, perhaps after a set-up; 3 when something is in its way.
    """
    import msgspec

    from kubedyno.kit import places, tasks
    from kubedyno.kit.errors import ExitCode
    from kubedyno.plane import examining

    facts = tasks.run(
        lambda: examining.gather(cache=places.cache_dir(), state=places.state_dir(), bin_dir=bin_dir, env=os.environ)
    )
    findings = examining.judge(facts)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings)).decode())
    else:
        marks = {"ok": "✓", "warning": "!", "broken": "✗"}
        for finding in findings:
            click.echo(f"{marks[finding.state]} {finding.name}: {finding.value}")
            if finding.fix:
                click.echo(f"    {finding.fix}")
    if any(finding.state == "broken" for finding in findings):
        sys.exit(ExitCode.ENGINE)
