"""``python -m kedge`` is the ``kedge`` command."""

from kedge.cli.entry import main

if __name__ == "__main__":
    main()
