"""Partitions of a graph: communities of high modularity, and the tree of their merges."""
