"""Classes from a few labels, and from pairs of rows."""
