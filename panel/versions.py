"""The release of this panel."""

from importlib.metadata import PackageNotFoundError, version

from core.lib.env import BASE_DIR


def installed() -> str:
    """Return the version of the installed wheel, or which checkout this is."""
    try:
        return version("pooldeck")
    except PackageNotFoundError:
        return f"the checkout {BASE_DIR}"
