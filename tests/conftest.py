"""What every test may use; and what tests of properties draw."""

import os

from hypothesis import HealthCheck, settings

# a slow machine is no fault of what is tested, here as with every other test
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("same", STEADY, derandomize=True)  # a change fails by what it changes, not by luck
settings.register_profile("anew", STEADY)
settings.load_profile(os.environ.get("POOLDECK_TEST_DRAWS", "same"))
