"""The commands, on typer (extra ``cli``); an error is one line on stderr and an exit code, never a traceback."""

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import wraps
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

BAD_INPUT, INTERRUPTED, OWN_FAULT = 2, 130, 1


class OneLineErrors(TyperGroup):
    """A group of commands whose usage errors take one line."""

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run the command line; errors of the parser are those that have ``format_message``."""
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except Exception as error:
            if not (standalone_mode and hasattr(error, "format_message")):
                raise
            if type(error).__name__ == "NoArgsIsHelpError":
                print(error.format_message(), file=sys.stderr)
                sys.exit(BAD_INPUT)
            # The command as users type it, however this process was started.
            context: Any = getattr(error, "ctx", None)
            command = f"kedge{context.command_path[len(context.find_root().command_path) :]}" if context else "kedge"
            say(command, f"{error.format_message()} (see {command} --help)")
            sys.exit(BAD_INPUT)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


def say(command: str, text: str) -> None:
    """Print a text as one line on stderr."""
    print(f"{command}: {' '.join(text.split())}", file=sys.stderr)


def _count_or_auto(text: str) -> int | str:
    if text != "auto" and not (text.isdecimal() and text.isascii() and len(text) < 10 and int(text) > 0):
        raise typer.BadParameter(f"must be a whole number above zero, or auto: {text!r}")
    return text if text == "auto" else int(text)


def _number_or_auto(text: str) -> float | str:
    with suppress(ValueError):
        if text == "auto" or 0 <= float(text) < float("inf"):
            return text if text == "auto" else float(text)
    raise typer.BadParameter(f"must be a number that is not negative, or auto: {text!r}")


# Typer shows what an enumeration holds as the choices of an option.
Structure = StrEnum("Structure", ["soft", "exact"])
# Commands import what they need when they run, so that --help and completion are quick.
app = typer.Typer(cls=OneLineErrors, no_args_is_help=True, add_completion=True, rich_markup_mode=None)


def command(function: Callable[..., int]) -> Callable[..., int]:
    """Add a command that returns an exit code. It fails in one line, and shows its warnings after success."""
    name = f"kedge {function.__name__}"

    @app.command()
    @wraps(function)
    def run(*arguments: Any, **options: Any) -> int:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                # kedge predict compares the names of columns itself.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                code = function(*arguments, **options)
        except KeyboardInterrupt:
            say(name, "stopped; nothing was written")
            return INTERRUPTED
        except Exception as error:
            if os.environ.get("KEDGE_TRACEBACK") or isinstance(error, BrokenPipeError):
                raise
            text = str(error) or type(error).__name__
            # Input can cause these errors; any other is a fault of kedge.
            if isinstance(error, ValueError | OSError | MemoryError | ImportError):
                say(name, "not enough memory; lower --memory" if text == "MemoryError" else text)
                return BAD_INPUT
            say(name, f"unexpected {type(error).__name__}: {text}; KEDGE_TRACEBACK=1 shows where")
            return OWN_FAULT
        if not options.get("as_json"):
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                say(name, f"note: {text}")
        return code

    return run


Data = Annotated[list[Path], typer.Argument(metavar="DATA", help="Data files, or a folder; several files are views.")]
_CLUSTERS = "Number of clusters; auto finds it from the data."
Clusters = Annotated[Any, typer.Option("-k", "--clusters", metavar="N|auto", parser=_count_or_auto, help=_CLUSTERS)]
Number = {"metavar": "NUMBER|auto", "parser": _number_or_auto}
Columns = Annotated[str | None, typer.Option(help="Columns to use: names, numbers from 0, ranges (a,b,3-7).")]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, in the same form.")]
LabelColumn = Annotated[
    str | None, typer.Option(help="Column or array of known classes; used for scores only, not to fit.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed for everything random.")]
Memory = Annotated[float | None, typer.Option(help="GiB of memory to use at most; default: all of the machine.")]
Anchors = Annotated[Any, typer.Option(metavar="N|auto", parser=_count_or_auto, help="Number of anchors.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; default: all processors.")]
Beta = Annotated[Any, typer.Option(**Number, help="Weight of the structure penalty.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Subspace clustering, linear in the number of rows.

    Data files: CSV, TSV, Parquet, Arrow, .npy, .npz, .mat, .h5, .h5ad, .h5mu. Several files, or a folder of them, are
    several views of the same rows. To complete commands and options in your shell: kedge --install-completion.
    """
    if version:
        typer.echo(f"kedge {installed_version('kedge')}")
        raise typer.Exit


@command
def fit(
    data: Data,
    k: Clusters = "auto",
    out: Annotated[Path, typer.Option(help="Folder for the results; it must not exist yet.")] = Path("kedge-run"),
    report: Annotated[bool, typer.Option("--report", help="Also write report.html.")] = False,
    columns: Columns = None,
    drop: Drop = None,
    label_column: LabelColumn = None,
    use_labels: Annotated[
        bool, typer.Option("--use-labels", help="Fill in the classes of rows where the label column is empty or -1.")
    ] = False,
    new_classes: Annotated[
        bool, typer.Option("--new-classes", help="With --use-labels: clusters without labels become classes.")
    ] = False,
    alpha: Annotated[Any, typer.Option(**Number, help="Ridge on the weights of a row.")] = None,
    beta: Beta = None,
    anchors: Anchors = None,
    structure: Annotated[Structure | None, typer.Option(help="exact: a graph of exactly k components.")] = None,
    seed: Seed = 0,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")] = False,
) -> int:
    """Cluster the rows of data files; labels, model and a record of the run go to a folder.

    The folder holds labels (.csv and .parquet), layers (labels at other numbers of clusters), model.kedge and run.json.
    It appears when everything is written.
    """
    from kedge.cli.fit import classifier_parameters, fit_files

    reading = {"columns": columns, "drop": drop, "label_column": label_column, "memory": memory}
    settings = {"alpha": alpha, "beta": beta, "n_anchors": anchors, "structure": structure and structure.value}
    parameters = {name: value for name, value in settings.items() if value is not None}
    parameters |= {"n_clusters": k, "random_state": seed, "n_jobs": threads}
    if use_labels or new_classes:
        parameters = classifier_parameters(parameters, label_column, use_labels, new_classes)
        reading["all_labelled"] = False
    return fit_files(data, reading, parameters, out=out, report=report, as_json=as_json, overwrite=overwrite)


@command
def plan(
    data: Data,
    k: Clusters = "auto",
    columns: Columns = None,
    drop: Drop = None,
    label_column: LabelColumn = None,
    beta: Beta = None,
    anchors: Anchors = None,
    memory: Memory = None,
    threads: Threads = None,
    as_json: Json = False,
) -> int:
    """Say how much time, memory and disk kedge fit will take on this machine, from a probe of about two seconds.

    The probe fits samples of the rows, with the anchors of the whole fit. It reads files that can only be read whole,
    but only the beginning of a large text file.
    """
    from kedge.cli.plan import plan_files

    reading = {"columns": columns, "drop": drop, "label_column": label_column, "memory": memory}
    settings = {"beta": beta, "n_anchors": anchors}
    parameters = {name: value for name, value in settings.items() if value is not None}
    return plan_files(
        data, reading, parameters | {"n_clusters": k, "n_jobs": threads, "random_state": 0}, as_json=as_json
    )


@command
def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a run, or a model file.")],
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for labels and confidence: .csv, .parquet, .npy (labels only); default: stdout, as CSV."
        ),
    ] = None,
    columns: Columns = None,
    drop: Drop = None,
    memory: Memory = None,
) -> int:
    """Label new rows with the clusters of a model, with a confidence each; columns are found by their names."""
    from kedge.cli.predict import predict_files

    return predict_files(model, data, {"columns": columns, "drop": drop, "memory": memory}, out)


@command
def suggest(
    run_dir: Annotated[Path, typer.Argument(help="Folder of a run, or a model file.")],
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="How many rows to name.")] = 20,
) -> int:
    """Name the rows whose classes are worth asking for, the most telling first, as CSV."""
    from kedge.cli.suggest import suggest_rows

    return suggest_rows(run_dir, n)


@command
def report(run_dir: Annotated[Path, typer.Argument(help="Folder that kedge fit wrote.")]) -> int:
    """Write report.html into the folder of a run."""
    from kedge.cli.run_folder import write_run_report

    return write_run_report(run_dir)


@command
def compare(
    data: Data,
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas; default: sgl,kmeans, or msgl,kmeans for views.")
    ] = None,
    k: Clusters = "auto",
    label_column: LabelColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="File for the table: .csv, .md or .html.")] = None,
    as_json: Json = False,
) -> int:
    """Cluster the same data with several methods and compare the results."""
    from kedge.cli.compare import compare_files

    reading = {"columns": columns, "drop": drop, "label_column": label_column}
    return compare_files(data, reading, {"n_clusters": k, "random_state": seed}, methods, out, as_json)


@app.command()
def doctor() -> int:
    """Show versions, the compiled solver, threads, BLAS, and a one-second speed test."""
    from kedge.cli.doctor import print_report

    return print_report()


@app.command(
    name="reproduce",
    # benchmarks.paper reads the options, and --help too.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def reproduce_command(context: typer.Context) -> int:
    """Reproduce the tables and figures of the paper; needs a checkout of kedge's repository."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "benchmarks" / "paper").is_dir():
        say("kedge reproduce", "needs kedge's repository: clone it and run `python -m benchmarks.paper` there")
        return BAD_INPUT
    sys.path.insert(0, str(checkout))
    program = importlib.import_module("benchmarks.paper.__main__")
    return int(program.main(context.args, program="kedge reproduce"))
