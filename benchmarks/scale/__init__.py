"""Past memory and past one machine."""
