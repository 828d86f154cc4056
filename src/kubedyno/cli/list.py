"""`kubedyno list`."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kubedyno.lab.scenario import Parameter, Scenario


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the engines and schedulers that each can use.")
def command(*, as_json: bool) -> None:
    """The scenarios, with their parameters and tags."""
    import msgspec

    from kubedyno.lab.applying import applicability
    from kubedyno.scenarios import ALIASES, SCENARIOS

    found = [SCENARIOS.get(name) for name in SCENARIOS]
    short = {name: alias for alias, name in ALIASES.items()}
    if as_json:
        listed = [_described(scenario, short.get(scenario.name)) for scenario in found]
        click.echo(msgspec.json.format(msgspec.json.encode(listed)).decode())
        return
    for scenario in found:
        alias = f" (or {short[scenario.name]})" if scenario.name in short else ""
        click.echo(f"{scenario.name}{alias}  [{', '.join(scenario.tags)}]\n  {scenario.description}")
        for parameter in scenario.parameters:
            click.echo(f"  -p {parameter.name}={parameter.default}  ({_kind(parameter)}){_doc(parameter)}")
        for reason in dict.fromkeys(one.reason for one in applicability(scenario) if not one.is_of_engine):
            if reason is not None:
                click.echo(f"  {reason}")


def _kind(parameter: "Parameter") -> str:
    if parameter.choices:
        return " | ".join(parameter.choices)
    bounds = (("from", parameter.least), ("to", parameter.most))
    return parameter.type + "".join(f" {word} {bound:g}" for word, bound in bounds if bound is not None)


def _doc(parameter: "Parameter") -> str:
    return f"  {parameter.doc}" if parameter.doc else ""


def _described(scenario: "Scenario", alias: str | None) -> dict[str, Any]:
    import msgspec

    from kubedyno.lab.applying import applicability

    return {
        "name": scenario.name,
        "alias": alias,
        "description": scenario.description,
        "tags": scenario.tags,
        "needs": scenario.needs,
        "settings": scenario.settings_with(scenario.with_defaults({})),
        "parameters": [msgspec.to_builtins(parameter) for parameter in scenario.parameters],
        "runs_on": [
            {
                "engine": one.engine,
                "scheduler": one.scheduler,
                "applies": one.reason is None,
                "reason": one.reason,
            }
            for one in applicability(scenario)
        ],
    }
