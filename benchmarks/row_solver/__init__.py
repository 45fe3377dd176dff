"""Rows per second of the row solver against general quadratic programming solvers."""
