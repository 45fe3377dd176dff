"""Clustering of whole data sets, compared with the tools a user would pick instead.

``python -m benchmarks.clustering.NAME [--quick]`` with NAME one of

- ``scaling``: seconds and memory of a fit over the number of rows;
- ``prediction``: seconds to label new rows, compared with a nearest-neighbour classifier;
- ``subspaces``: accuracy on linear subspaces, compared with spectral clustering and SSC-OMP;
- ``exact``: graphs with exactly k components.

Outputs of full runs are kept in ``results/``.
"""
