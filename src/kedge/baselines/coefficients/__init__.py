"""Rows written as combinations of other rows: what several baselines share."""
