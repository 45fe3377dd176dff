"""The commands, on typer (extra ``cli``); errors are one line on stderr and an exit code, never a traceback."""

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

BAD_INPUT, INTERRUPTED, OWN_FAULT = 2, 130, 1


class OneLineErrors(TyperGroup):
    """A group of commands whose usage errors take one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; errors of the parser are those exceptions that can format themselves."""
        if not options.pop("standalone_mode", True):
            return super().main(*args, **(options | {"standalone_mode": False}))
        try:
            code = super().main(*args, **(options | {"standalone_mode": False}))
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            command = _command_of(getattr(error, "ctx", None))
            if type(error).__name__ == "NoArgsIsHelpError":
                print(error.format_message(), file=sys.stderr)
            else:
                say(command, f"{_one_line(error.format_message())} (see {command} --help)")
            sys.exit(BAD_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


def one_line_errors(command: Callable[..., int]) -> Callable[..., None]:
    """Let a command that returns an exit code end in one line if it fails.

    Warnings are shown at the end, a line each, and only after success.
    """
    name = f"kedge {command.__name__.removesuffix('_command')}"

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("default")
                # Names of columns are compared here, file against model.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                code = command(*arguments, **options)
        except KeyboardInterrupt:
            say(name, "stopped; nothing was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            if os.environ.get("KEDGE_TRACEBACK"):
                raise
            raise typer.Exit(_say_what_failed(name, error)) from None
        if not options.get("as_json"):
            for text in dict.fromkeys(_one_line(str(warning.message)) for warning in caught):
                say(name, f"note: {text}")
        raise typer.Exit(code)

    return run


def _say_what_failed(command: str, error: Exception) -> int:
    text = _one_line(str(error)) or type(error).__name__
    # What input can cause; anything else is a fault of kedge.
    if isinstance(error, ValueError | OSError | MemoryError | ImportError):
        say(command, "not enough memory; lower --memory" if text == "MemoryError" else text)
        return BAD_INPUT
    say(command, f"unexpected {type(error).__name__}: {text}; KEDGE_TRACEBACK=1 shows where")
    return OWN_FAULT


def say(command: str, text: str) -> None:
    """Print a line on stderr."""
    print(f"{command}: {text}", file=sys.stderr)


def _command_of(context: Any) -> str:
    """Return the command as users type it, however this process was started."""
    if context is None:
        return "kedge"
    return f"kedge{context.command_path[len(context.find_root().command_path) :]}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
@one_line_errors
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
) -> int:
    """Cluster the rows of data files; labels, model and record of the run go to a folder.

    The folder holds labels (.csv and .parquet), layers (the same at other numbers of clusters), model.kedge and
    run.json, and appears when all of it is written.
    """
    from kedge.cli.fit import fit_files

    reading = {"columns": columns, "drop": drop, "label_column": label_column, "memory": memory}
    settings = {"alpha": alpha, "beta": beta, "anchors": anchors, "structure": structure}
    parameters = fit_parameters(k, seed, settings) | {"n_jobs": threads}
    return fit_files(data, reading, parameters, out=out, report=report, as_json=as_json, overwrite=overwrite)


@app.command(name="predict")
@one_line_errors
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
) -> int:
    """Give new rows the clusters of a model, and say how sure it is; columns are found by their names."""
    from kedge.cli.predict import predict_files

    return predict_files(model, data, out=out, columns=columns, drop=drop, memory=memory)


@app.command(name="report")
@one_line_errors
def report_command(run_dir: Annotated[Path, typer.Argument(help="Folder that kedge fit left.")]) -> int:
    """Write report.html into the folder of a run."""
    from kedge.cli.report import write_run_report

    return write_run_report(run_dir)


@app.command(name="compare")
@one_line_errors
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
) -> int:
    """Cluster the same data by several methods and set the results side by side."""
    from kedge.cli.compare import compare_files

    reading = {"columns": columns, "drop": drop, "label_column": label_column}
    return compare_files(data, reading, methods, count_or_auto(k, "-k"), checked_seed(seed), out=out, as_json=as_json)


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


def fit_parameters(k: str, seed: int, settings: dict[str, str | None]) -> dict[str, Any]:
    """Return the parameters of the estimator that were given."""
    given: dict[str, Any] = {"n_clusters": count_or_auto(k, "-k")}
    for name, text in settings.items():
        if text is None:
            continue
        if name == "structure" and text not in ("soft", "exact"):
            raise ValueError(f"--structure must be soft or exact: {text!r}")
        if name == "anchors":
            given["n_anchors"] = count_or_auto(text, "--anchors")
        else:
            given[name] = text if name == "structure" else _number_or_auto(text, f"--{name}")
    return given | {"random_state": checked_seed(seed)}


def count_or_auto(text: str, option: str) -> int | str:
    """Return a whole number above zero, or "auto"."""
    if text == "auto":
        return text
    if not (text.isdecimal() and text.isascii() and len(text) < 10 and int(text) > 0):
        raise ValueError(f"{option} must be a whole number above zero, or auto: {text!r}")
    return int(text)


def _number_or_auto(text: str, option: str) -> float | str:
    if text == "auto":
        return text
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise ValueError(f"{option} must be a number that is not negative, or auto: {text!r}")
    return number


def checked_seed(seed: int) -> int:
    """Return a seed that NumPy takes."""
    if not 0 <= seed < 2**32:
        raise ValueError(f"--seed must be a whole number from 0 to {2**32 - 1}: {seed}")
    return seed
