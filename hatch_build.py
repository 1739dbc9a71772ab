"""Adds the versions and hashes of uv.lock to the wheel, as a file of requirements that pip reads.

A release is then installed and upgraded with what it was tested with, also years later, and without a checkout.
"""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from uv import find_uv_bin

EXPORT = ("export", "--quiet", "--frozen", "--no-dev", "--no-emit-project", "--no-annotate", "--no-header")


class LockedRequirements(BuildHookInterface[Any]):  # type: ignore[misc]  # hatchling is where wheels are built alone
    """Runs uv, which the build's own environment has beside hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Export the lock file into build/, which git ignores, and name the file as part of the wheel."""
        exported = Path(self.root) / "build" / "requirements.txt"
        exported.parent.mkdir(exist_ok=True)
        subprocess.run([find_uv_bin(), *EXPORT, "--output-file", exported], cwd=self.root, check=True)
        build_data["force_include"][str(exported)] = "panel/share/requirements.txt"
