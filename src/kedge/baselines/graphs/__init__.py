"""Graphs between rows that several baselines share."""
