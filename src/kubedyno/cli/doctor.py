"""`kubedyno doctor`."""

import os
import sys
from pathlib import Path

import click


@click.command("doctor")
@click.option("--bin-dir", type=click.Path(path_type=Path), help="A folder with programs to prefer.")
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Look at this cluster too.")
@click.option("--context", help="The context of the kubeconfig; else its current one.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(*, bin_dir: Path | None, kubeconfig: Path | None, context: str | None, as_json: bool) -> None:
    """What this machine can run, and what to do about the rest.

    Exit code 0 when a lab can run, perhaps after a set-up; 3 when something is in its way.
    """
    import msgspec

    from kubedyno.client import kubeconfig as kubeconfigs
    from kubedyno.kit import places, tasks
    from kubedyno.kit.errors import ExitCode
    from kubedyno.plane import examining

    access = kubeconfigs.load(kubeconfig, context=context) if kubeconfig or context else None

    async def examine() -> list[examining.Finding]:
        facts = await examining.gather(
            cache=places.cache_dir(), state=places.state_dir(), bin_dir=bin_dir, env=os.environ
        )
        return [*examining.judge(facts), *([await examining.cluster(access)] if access else [])]

    findings = tasks.run(examine)
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
