"""The baselines, compared with plain programs that do the same: ``python -m benchmarks.baselines.NAME [--quick]``.

- ``matching_pursuit``: orthogonal matching pursuit of every row over the others, compared with a loop over rows;
- ``mnist``: the fast methods on MNIST.
"""
