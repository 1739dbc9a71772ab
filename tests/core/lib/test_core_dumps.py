"""No process of the panel leaves its memory, with keys and passwords, in a file."""

import resource
import subprocess
import sys

SHOW = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0])"


def test_django_itself_forbids_them_in_each_process_of_the_panel() -> None:
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    words = [sys.executable, "-c", f"import django; django.setup(); {SHOW}"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
    )
    assert done.stdout.split() == ["0"]
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, most)
