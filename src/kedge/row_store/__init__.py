"""Where the coefficients are between passes: in memory, or in a scratch file."""
