"""Quality of clusterings on thirteen data sets, compared with what a careful user would run instead.

- ``python -m benchmarks.quality``: runs what is missing, then prints the tables;
- ``python -m benchmarks.quality.table``: prints the tables of the recorded runs;
- ``python -m benchmarks.quality.page``: the same as Markdown, for docs/quality.md and README.md;
- ``python -m benchmarks.quality.cluster_counts``: counts clusters on generated data;
- ``python -m benchmarks.quality.confidence``: shows how often rows of low confidence are wrong;
- ``python -m benchmarks.quality.scalings``: compares ``scale="auto"`` with fixed scalings.

Every run is one line of ``results/quality.jsonl``; ``results/last_version.jsonl`` holds the figures of version 0.1.0.
"""
