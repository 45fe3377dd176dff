"""The mathematics of one pass: rows, the step between passes, scaling, weights of views, labels."""
