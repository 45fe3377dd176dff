"""Quality of clusterings on thirteen data sets, beside what a careful user would run instead.

- ``python -m benchmarks.quality``: runs what has not been run yet, then prints the tables;
- ``python -m benchmarks.quality.table``: prints the tables of what is recorded.

Every run is one line of ``results/quality.jsonl``; ``results/last_version.jsonl`` holds the figures of version 0.1.0.
"""
