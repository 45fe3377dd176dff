"""The baselines beside plain programs for the same thing: ``python -m benchmarks.baselines.NAME [--quick]``.

- ``matching_pursuit``: orthogonal matching pursuit of every row over the others, beside a loop over rows.
"""
