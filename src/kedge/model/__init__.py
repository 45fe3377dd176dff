"""The mathematics: anchors, the spectral map of the graph, labels. NumPy, SciPy and scikit-learn's k-means only."""
