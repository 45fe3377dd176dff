"""Anchors: the few prototypes from which every row is rebuilt."""
