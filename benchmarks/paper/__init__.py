"""The paper's tables and figures, run again and set beside the published numbers."""
