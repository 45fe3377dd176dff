"""The ``kedge`` command."""
