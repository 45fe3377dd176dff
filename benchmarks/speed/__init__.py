"""Seconds and quality of a fit beside what a user would run instead.

``python -m benchmarks.speed`` measures and prints; its output is kept in ``results/speed.txt``. From there
``python -m benchmarks.speed.page --write`` takes the tables of the docs and draws the picture.
"""
