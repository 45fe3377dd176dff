"""Parameters that the data decide: settings are tried on a sample of rows and judged by what near rows do."""
