"""Several views: quality, missing views, noise and speed, compared with what a user would run instead."""
