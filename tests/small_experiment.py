"""A small experiment on generated rows, for tests of reproduction."""

from benchmarks.paper.campaign import Resources
from benchmarks.paper.plan import Cut, read_experiment

DECLARED = """
kind = "table"
title = "A small table"
data = ["generated-subspaces"]
n_choice_seeds = 2

[[methods]]
label = "k-means"
method = "KMeans"
published = "KMeans"
n_seeds = 3
[methods.grid]
n_init = [1, 2]
max_iter = [5]

[[methods]]
label = "fixed"
method = "LSR"
n_seeds = 2
note = "one setting"
fixed = { ridge = 0.01 }

[published."generated-subspaces"."KMeans"]
acc = 20.0
nmi = 10.0
purity = 30.0
seconds = 1.5
"""
EXPERIMENT = read_experiment("small", DECLARED)
CUT = Cut(n_rows=80)
RESOURCES = Resources(2, 8 * 2**30)
