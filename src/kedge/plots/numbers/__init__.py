"""The numbers behind the figures, computed once for plots and reports."""
