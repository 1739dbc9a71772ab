"""Settings of the test run: keys and state of its own, so that nothing of an installation is touched."""

import os
import tempfile

# The parallel processes of a test run get their environment from the first: a home of its own for each of them, which
# the programs that it starts share.
PARALLEL = os.environ.get("PYTEST_XDIST_WORKER", "")
if os.environ.get("POOLDECK_TEST_WORKER", "") != PARALLEL:
    os.environ.pop("POOLDECK_HOME", None)
    os.environ["POOLDECK_TEST_WORKER"] = PARALLEL
os.environ.setdefault("POOLDECK_HOME", tempfile.mkdtemp(prefix="pooldeck-tests-"))
os.environ.setdefault("POOLDECK_SECRET_KEY", "tests-only-" + "x" * 50)
os.environ.setdefault("POOLDECK_KEYS", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")

os.environ.setdefault("POOLDECK_CONTENTION_PERCENT", "0")  # tests of several kinds share this machine
os.environ.setdefault("POOLDECK_CONNECTION_RESERVE", "0")  # the budgets of tests are round

from panel.settings import *

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns of a folder that is not there
# A file, not memory: the real workers of live tests are processes of their own and share it.
if "sqlite" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"]["TEST"] = {"NAME": str(HOME / "tests.sqlite3")}
