"""Seconds and sum of squares of thousands of k-means centres, kedge's anchors, beside libraries made for that.

``python -m benchmarks.anchors`` measures and prints; its output is kept in ``results/anchors.txt``.
"""
