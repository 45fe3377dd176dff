"""Graphs between rows, or rows and anchors: weights, embeddings, components, clusters."""
