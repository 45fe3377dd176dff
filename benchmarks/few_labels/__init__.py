"""What a few labels or pairs of rows add to a clustering."""
