"""Clustering of whole data sets against the tools a user would pick instead.

``python -m benchmarks.clustering.NAME [--quick]`` with NAME one of

- ``speed``: seconds of a fit beside k-means, on real and generated data;
- ``scaling``: seconds and memory of a fit over the number of rows;
- ``prediction``: seconds to label new rows beside a nearest-neighbour classifier;
- ``subspaces``: accuracy on linear subspaces beside spectral clustering and SSC-OMP.

Outputs of full runs are kept in ``results/``.
"""
