"""Rows rebuilt from each other: sparse, low-rank and ridge coefficients, and the graphs they make."""
