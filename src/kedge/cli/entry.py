"""Entry point of the ``kedge`` command."""

import sys


def main() -> None:
    """Run the command line; without the extra ``cli``, only ``kedge doctor`` works."""
    try:
        from kedge.cli.commands import app
    except ImportError:
        from kedge.cli.doctor import print_report

        if sys.argv[1:] == ["doctor"]:
            sys.exit(print_report())
        print("kedge: only `kedge doctor` runs without the extra `cli`: pip install 'kedge[cli]'", file=sys.stderr)
        sys.exit(2)
    app()
