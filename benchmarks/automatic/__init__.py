"""What the automatic mode reaches without labels, beside what others reach with them."""
