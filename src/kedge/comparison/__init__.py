"""The same data under several methods and settings, in one table."""

from kedge.comparison.comparing import compare
from kedge.comparison.method_names import MethodChoice, known_methods, read_methods
from kedge.comparison.result import Comparison, MethodResult

__all__ = ["Comparison", "MethodChoice", "MethodResult", "compare", "known_methods", "read_methods"]
