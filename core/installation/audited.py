"""What the audit trail follows of the installation."""

from core.audit.tracking import track
from core.installation.models import Installation

track(
    Installation,
    "installation",
    only=["home", "paused_at", "paused_because"],
    name="home",
    actions={"paused_at": "installation.pause"},
)
