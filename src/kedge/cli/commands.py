"""The commands, on typer (extra ``cli``)."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.doctor import print_report

SUMMARY = "Subspace clustering, linear in the number of rows."

app = typer.Typer(help=SUMMARY, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Subspace clustering, linear in the number of rows."""
    if version:
        typer.echo(f"kedge {installed_version('kedge')}")
        raise typer.Exit


@app.command()
def doctor() -> None:
    """Show versions, the compiled solver, threads, BLAS, and a one-second speed test."""
    raise typer.Exit(print_report())


@app.command(name="reproduce")
def reproduce_command(
    names: Annotated[list[str] | None, typer.Argument(help="Tables and figures; all if none is named.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for results and pages.")] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="A cut of everything, to see that it runs.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Show what there is and stop.")] = False,
    pages_only: Annotated[
        bool, typer.Option("--pages-only", help="Write pages of what is recorded; run nothing.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Units side by side; default: processors.")] = None,
    memory: Annotated[float | None, typer.Option(min=0.5, help="GiB for all together; default: 80 % of all.")] = None,
) -> None:
    """Run the paper's tables and figures again and set them beside ours; a run that was stopped goes on."""
    # The other commands need not wait for the methods to load.
    from kedge.cli.reproduce import list_experiments, reproduce, write_only

    try:
        if list_only:
            list_experiments()
            return
        if pages_only:
            raise typer.Exit(write_only(names or [], out, quick=quick))
        raise typer.Exit(reproduce(names or [], out, quick=quick, n_workers=jobs, memory=memory))
    except (ValueError, OSError, RuntimeError) as error:
        if isinstance(error, typer.Exit):
            raise
        print(f"kedge reproduce: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
