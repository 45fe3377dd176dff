"""More rows than memory or one machine can hold."""
