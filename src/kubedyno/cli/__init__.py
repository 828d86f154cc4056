"""The command: one thin module per subcommand; errors become sentences and exit codes here."""

import errno
import importlib
import sys
import traceback

import click

from kubedyno import __version__

# Name: module, and the first line of its help, so that `--help` imports none of them. A test compares the lines.
COMMANDS = {
    "clusterloader": (
        "kubedyno.cli.clusterloader",
        "Run ClusterLoader2's configs: on a lab of their own, or on a cluster.",
    ),
    "compare": (
        "kubedyno.cli.compare",
        "Compare the trials of B with those of A: what got faster or slower, and how sure that is.",
    ),
    "dashboard": (
        "kubedyno.cli.dashboard",
        "The page over all runs of a store: trends, runs, failures, comparisons.",
    ),
    "doctor": ("kubedyno.cli.doctor", "What this machine can run, and what to do about the rest."),
    "down": ("kubedyno.cli.down", "End a lab: no process and no port is left."),
    "export": ("kubedyno.cli.export", "Export the NUMA zones of simulated nodes, in the foreground."),
    "index": ("kubedyno.cli.index", "The index of a store of results, by which runs are found."),
    "list": ("kubedyno.cli.list", "The scenarios, with their parameters and tags."),
    "nodes": ("kubedyno.cli.nodes", "Simulated nodes of a lab or cluster: pools of them, and what befalls them."),
    "plot": ("kubedyno.cli.plot", "Draw the times of submitted workloads, and write them as a table."),
    "publish": (
        "kubedyno.cli.publish",
        "Publish runs to a store that lasts: on S3, or in a folder.",
    ),
    "regressions": (
        "kubedyno.cli.regressions",
        "Find where figures changed their level along the history of a store, and in which run.",
    ),
    "report": ("kubedyno.cli.report", "Make the page and the plots of runs anew, from their folders alone."),
    "run": ("kubedyno.cli.run", "Run scenarios on a lab of their own and keep what was measured."),
    "sample": ("kubedyno.cli.sample", "Write down when submitted workloads reached each step."),
    "setup": ("kubedyno.cli.setup", "Find, download or build programs: all of them, or the COMPONENTs named."),
    "simulate": ("kubedyno.cli.simulate", "Simulate the nodes of a cluster, in the foreground."),
    "status": ("kubedyno.cli.status", "The labs that are there, and their processes."),
    "submit": ("kubedyno.cli.submit", "Submit workloads to a lab or cluster."),
    "up": ("kubedyno.cli.up", "Make a lab that stays, and print how to reach it."),
}


class _LazyGroup(click.Group):
    """Imports a subcommand when it is run, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            from kubedyno.kit.nearest import suggestion

            ctx.fail(f"there is no command {args[0]!r}: {suggestion(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kubedyno")
@click.option("--debug", is_flag=True, help="Log what happens, and show tracebacks.")
def kubedyno(*, debug: bool) -> None:
    """Measure Kubernetes schedulers on simulated GPU clusters."""
    from kubedyno.kit import logs

    logs.configure(debug=debug)


def main() -> None:
    """Run the command and leave the process with the right exit code."""
    from kubedyno.kit.errors import ExitCode, KubedynoError
    from kubedyno.kit.tasks import Interrupted

    try:
        code = kubedyno.main(prog_name="kubedyno", standalone_mode=False)
    except KubedynoError as error:
        code = _fail(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (Interrupted, KeyboardInterrupt, click.Abort):
        code = _fail("interrupted; everything that was started is stopped", ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        code = _fail(f"the disk is full: {error.filename}; free some space there", ExitCode.ENGINE)
    sys.exit(code)


def _fail(message: str, code: int) -> int:
    if "--debug" in sys.argv:
        traceback.print_exc()
    click.echo(f"kubedyno: {message}", err=True)
    return code
