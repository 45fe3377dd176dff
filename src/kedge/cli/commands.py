"""The commands, on typer (extra ``cli``)."""

from importlib.metadata import version as installed_version

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
