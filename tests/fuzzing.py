"""How many random examples a test draws: few in ``make test``, more in ``make check``."""

from hypothesis import settings

settings.register_profile("test", deadline=None, print_blob=True)
settings.register_profile("check", settings.get_profile("test"), max_examples=500)
settings.load_profile("test")


def examples(few: int) -> int:
    """Return the number of examples under the profile that pytest was started with."""
    return 4 * few if settings.get_current_profile_name() == "check" else few
