"""Anchors: the few prototypes from which every row is rebuilt, chosen by one of four methods."""

from kedge.model.anchor_selection.select import choose_anchors, select_anchors

__all__ = ["choose_anchors", "select_anchors"]
