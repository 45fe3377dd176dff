"""Entry point of the ``kedge`` command."""

import sys


def main() -> None:
    """Run the command line.

    ``kedge doctor`` must work in the barest installation, where it is needed most, so it does not wait for the extra
    that the other commands are built on.
    """
    try:
        from kedge.cli.commands import app
    except ImportError:
        _run_without_extra(sys.argv[1:])
    else:
        app()


def _run_without_extra(arguments: list[str]) -> None:
    from kedge.cli.doctor import print_report

    if arguments == ["doctor"]:
        sys.exit(print_report())
    print("kedge: only `kedge doctor` runs without the extra `cli`: pip install 'kedge[cli]'", file=sys.stderr)
    sys.exit(2)
