"""The commands, on typer (extra ``cli``)."""

import importlib
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.one_line import BAD_INPUT, OneLineErrors, run_quietly, say

SUMMARY = """Subspace clustering, linear in the number of rows.

Data files: CSV, TSV, Parquet, Arrow, .npy, .npz, .mat, .h5, .h5ad, .h5mu; several files, or a folder of them, are
several views of the same rows. Completion of commands and options in your shell: kedge --install-completion."""

# The commands import what they run when they run, so that --help and completion are quick.
app = typer.Typer(cls=OneLineErrors, help=SUMMARY, no_args_is_help=True, add_completion=True, rich_markup_mode=None)

Data = Annotated[list[Path], typer.Argument(metavar="DATA", help="Data files, or a folder; several are views.")]
Clusters = Annotated[
    str, typer.Option("-k", "--clusters", metavar="N|auto", help="Number of clusters; auto: as many as the data has.")
]
Columns = Annotated[str | None, typer.Option(help="Columns to use: names, numbers from 0, ranges (a,b,3-7).")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, likewise.")]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column or array of known classes, kept aside and used for scores only.")
]
Seed = Annotated[int, typer.Option(help="Seed of all that is drawn at random.")]
Memory = Annotated[float | None, typer.Option(help="GiB of memory that may be used; default: what the machine has.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Subspace clustering, linear in the number of rows."""
    if version:
        typer.echo(f"kedge {installed_version('kedge')}")
        raise typer.Exit


@app.command(name="fit")
def fit_command(
    data: Data,
    k: Clusters = "auto",
    out: Annotated[Path, typer.Option(help="Folder for the results; must not exist yet.")] = Path("kedge-run"),
    report: Annotated[bool, typer.Option("--report", help="Also write report.html.")] = False,
    columns: Columns = None,
    drop: Drop = None,
    label_column: LabelColumn = None,
    alpha: Annotated[str | None, typer.Option(metavar="NUMBER|auto", help="Ridge on the weights of a row.")] = None,
    beta: Annotated[str | None, typer.Option(metavar="NUMBER|auto", help="Weight of the structure penalty.")] = None,
    anchors: Annotated[str | None, typer.Option(metavar="N|auto", help="Number of anchors.")] = None,
    structure: Annotated[
        str | None, typer.Option(metavar="soft|exact", help="A graph of exactly k components?")
    ] = None,
    seed: Seed = 0,
    memory: Memory = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; default: all processors.")] = None,
    as_json: Json = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False,
) -> None:
    """Cluster the rows of data files; labels, model and record of the run go to a folder.

    The folder holds labels (.csv and .parquet), layers (the same at other numbers of clusters), model.kedge and
    run.json, and appears when all of it is written.
    """

    def run() -> int:
        from kedge.cli.fit import FitOptions, fit_files

        options = FitOptions(k, columns, drop, label_column, alpha, beta, anchors, structure, seed, memory, threads)
        return fit_files(data, options, out=out, report=report, as_json=as_json, overwrite=overwrite)

    raise typer.Exit(run_quietly("kedge fit", run, quiet=as_json))


@app.command(name="predict")
def predict_command(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or a model file.")],
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for labels and confidence: .csv, .parquet or .npy (labels only); default: CSV on the terminal."
        ),
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    memory: Memory = None,
) -> None:
    """Give new rows the clusters of a model, and say how sure it is; columns are found by their names."""

    def run() -> int:
        from kedge.cli.predict import predict_files

        return predict_files(model, data, out=out, columns=columns, drop=drop, memory=memory)

    raise typer.Exit(run_quietly("kedge predict", run))


@app.command(name="report")
def report_command(run_dir: Annotated[Path, typer.Argument(help="Folder that kedge fit left.")]) -> None:
    """Write report.html into the folder of a run."""

    def run() -> int:
        from kedge.cli.report import write_run_report

        return write_run_report(run_dir)

    raise typer.Exit(run_quietly("kedge report", run))


@app.command(name="compare")
def compare_command(
    data: Data,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods, with commas between them; default: kmeans beside sgl or, for views, msgl."),
    ] = None,
    k: Clusters = "auto",
    label_column: LabelColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="File for the table: .csv, .md or .html.")] = None,
    as_json: Json = False,
) -> None:
    """Cluster the same data by several methods and set the results side by side."""

    def run() -> int:
        from kedge.cli.compare import compare_files

        return compare_files(
            data=data,
            methods=methods,
            k=k,
            label_column=label_column,
            columns=columns,
            drop=drop,
            seed=seed,
            out=out,
            json=as_json,
        )

    raise typer.Exit(run_quietly("kedge compare", run, quiet=as_json))


@app.command()
def doctor() -> None:
    """Show versions, the compiled solver, threads, BLAS, and a one-second speed test."""
    from kedge.cli.doctor import print_report

    raise typer.Exit(print_report())


@app.command(
    name="reproduce",
    # Options, and --help too, are those of benchmarks.paper.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def reproduce_command(context: typer.Context) -> None:
    """Run the paper's tables and figures again, beside ours; needs a checkout of kedge's repository."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "benchmarks" / "paper").is_dir():
        say("kedge reproduce", "needs kedge's repository: clone it and run `python -m benchmarks.paper` there")
        raise typer.Exit(BAD_INPUT)
    sys.path.insert(0, str(checkout))
    program = importlib.import_module("benchmarks.paper.__main__")
    raise typer.Exit(program.main(context.args, program="kedge reproduce"))
