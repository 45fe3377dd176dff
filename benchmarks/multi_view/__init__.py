"""Several views: quality, missing views, noise and speed, beside what a user would run instead."""
