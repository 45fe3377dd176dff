"""The sections of the page, one per file; each returns None where the model has nothing to show in it."""
