"""Quality of clusterings on thirteen data sets, beside what a careful user would run instead.

- ``python -m benchmarks.quality``: runs what has not been run yet, then prints the tables;
- ``python -m benchmarks.quality.table``: prints the tables of what is recorded;
- ``python -m benchmarks.quality.page``: the same as Markdown, for docs/quality.md;
- ``python -m benchmarks.quality.cluster_counts``: number of clusters on generated data;
- ``python -m benchmarks.quality.confidence``: how often rows of low confidence are wrong;
- ``python -m benchmarks.quality.scalings``: ``scale="auto"`` beside fixed scalings.

Every run is one line of ``results/quality.jsonl``; ``results/last_version.jsonl`` holds the figures of version 0.1.0.
"""
