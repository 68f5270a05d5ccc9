"""What all tests of the library share."""

from hypothesis import settings

# The same examples on every run, and no test that fails because the machine is busy.
settings.register_profile("headwise", deadline=None, derandomize=True)
settings.load_profile("headwise")
