"""`kubedyno list`."""

import click


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with engines and schedulers.")
def command(*, as_json: bool) -> None:
    """The scenarios, with their parameters and tags."""
    import msgspec

    from kubedyno.lab.spec import ENGINES
    from kubedyno.scenarios import SCENARIOS
    from kubedyno.schedulers import SCHEDULERS

    found = [SCENARIOS.get(name) for name in SCENARIOS]
    if as_json:
        listed = [
            {
                "name": scenario.name,
                "description": scenario.description,
                "tags": scenario.tags,
                "parameters": [msgspec.to_builtins(parameter) for parameter in scenario.parameters],
                "engines": list(ENGINES),
                "schedulers": list(SCHEDULERS),
            }
            for scenario in found
        ]
        click.echo(msgspec.json.format(msgspec.json.encode(listed)).decode())
        return
    for scenario in found:
        click.echo(f"{scenario.name}  [{', '.join(scenario.tags)}]\n  {scenario.description}")
        for parameter in scenario.parameters:
            click.echo(f"  -p {parameter.name}={parameter.default}  ({parameter.type})")
