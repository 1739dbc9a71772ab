"""Where the documentation explains each page: a map from URL names to pages of docs/ and their headings."""

START = "index.md"
HISTORIES = [
    f"{kind}-history"
    for kind in ("cluster", "pooler", "pool", "host", "run", "experiment", "script", "profile", "playbook", "schedule")
]
PLACES = {
    # a URL name, or the beginning of several with a hyphen at its end; the longest that fits counts
    "account_login": "reference/demo.md",
    "account-": "how-to/sign-on.md",
    "mfa_activate_totp": "how-to/sign-on.md#a-second-factor",
    "mfa_add_webauthn": "how-to/sign-on.md#a-second-factor",
    "mfa_authenticate": "how-to/sign-on.md#a-second-factor",
    "mfa_deactivate_totp": "how-to/sign-on.md#a-second-factor",
    "mfa_edit_webauthn": "how-to/sign-on.md#a-second-factor",
    "mfa_index": "how-to/sign-on.md",
    "mfa_generate_recovery_codes": "how-to/sign-on.md#a-second-factor",
    "mfa_login_webauthn": "how-to/sign-on.md#a-second-factor",
    "mfa_remove_webauthn": "how-to/sign-on.md#a-second-factor",
    "mfa_view_recovery_codes": "how-to/sign-on.md#a-second-factor",
    "dashboard": "reference/panel.md",
    "first-admin": "how-to/install.md#3-become-the-administrator",
    "installation": "reference/copies-and-backups.md",
    "login": "reference/demo.md",
    "sign-on": "how-to/sign-on.md#sign-on-by-openid-connect",
    "team-": "how-to/sign-on.md#teams",
    "invitation-": "how-to/sign-on.md#invite-somebody-by-a-link",
    "team-token-list": "reference/api.md#conventions",
    "person-": "how-to/sign-on.md#people",
    "audit-": "reference/audit.md",
    "token-": "reference/api.md#conventions",
    "tool-": "reference/managed-api.md",
    "cluster-": "reference/panel.md#clusters",
    "cluster-auth-query": "reference/panel.md#pools",
    "cluster-insights": "reference/panel.md#live-figures-comparing-and-run-limits",
    "cluster-apps": "reference/monitoring.md#applications",
    "session-end": "how-to/end-a-blocker.md",
    "cluster-monitoring": "reference/monitoring.md#charts",
    "channel-": "how-to/webhooks-and-mail.md",
    "approval-": "how-to/second-person.md",
    "cluster-approvals": "how-to/second-person.md",
    "shelf-": "reference/managed-api.md#clusters-that-a-command-of-yours-creates",
    "creation-": "reference/managed-api.md#clusters-that-a-command-of-yours-creates",
    "pooler-": "reference/panel.md#poolers",
    "pooler-access": "security.md",
    "pooler-drift": "reference/states.md#poolers",
    "pooler-fetch": "reference/pooler-files.md",
    "pooler-files-token": "reference/pooler-files.md",
    "pooler-let-go": "reference/watched-poolers.md#take-over-a-pooler-that-runs-already",
    "pooler-monitoring": "reference/monitoring.md#charts",
    "pooler-waiting": "reference/monitoring.md#why-clients-wait",
    "pooler-log": "reference/monitoring.md#the-log-of-a-pgbouncer",
    "pooler-apps": "reference/monitoring.md#applications",
    "pooler-paste": "reference/watched-poolers.md",
    "pooler-revision": "reference/states.md#revisions",
    "pooler-rollback": "reference/states.md#revisions",
    "pooler-take-over": "reference/watched-poolers.md#take-over-a-pooler-that-runs-already",
    "poolers-": "reference/watched-poolers.md#take-over-a-pooler-that-runs-already",
    "host-": "reference/hosts.md",
    "pool-": "reference/panel.md#pools",
    "pool-logins": "explanation/where-a-logins-time-goes.md",
    "pool-mode-check": "explanation/pool-modes.md",
    "pool-monitoring": "reference/monitoring.md#charts",
    "pool-waiting": "reference/monitoring.md#why-clients-wait",
    "pool-apps": "reference/monitoring.md#applications",
    "pool-statements": "reference/monitoring.md#top-statements",
    "pool-client-kill": "how-to/end-a-blocker.md",
    "pool-verb": "reference/watched-poolers.md",
    "wish-mode-check": "explanation/pool-modes.md",
    "entry-": "reference/watched-poolers.md",
    "entry-logins": "explanation/where-a-logins-time-goes.md",
    "entry-mode-check": "explanation/pool-modes.md",
    "entry-monitoring": "reference/monitoring.md#charts",
    "entry-waiting": "reference/monitoring.md#why-clients-wait",
    "entry-apps": "reference/monitoring.md#applications",
    "entry-statements": "reference/monitoring.md#top-statements",
    "entry-client-kill": "how-to/end-a-blocker.md",
    "entry-run": "reference/watched-poolers.md",
    "entry-size": "explanation/sizing.md",
    "event-": "reference/monitoring.md#events",
    "run-": "reference/panel.md#datasets-runs-and-scripts",
    "run-compare": "explanation/reading-a-comparison.md",
    "run-detail": "explanation/reading-a-comparison.md#what-makes-a-run-worthless",
    "link-": "reference/experiments.md",
    "comparison-links": "reference/experiments.md",
    "run-links": "reference/experiments.md",
    "shared": "reference/experiments.md",
    "ceiling-": "reference/panel.md#live-figures-comparing-and-run-limits",
    "external-": "reference/experiments.md#external-endpoints",
    "experiment-": "reference/experiments.md",
    "experiment-list": "explanation/what-a-pool-is-worth.md#five-published-experiments-read-critically",
    "playbook-": "reference/experiments.md",
    **dict.fromkeys(HISTORIES, "reference/audit.md"),
    "advice-": "explanation/sizing.md",
    "generator-": "reference/processes.md",
    "dataset-": "reference/panel.md#datasets-runs-and-scripts",
    "schedule-": "how-to/nightly.md",
    "script-": "reference/panel.md#datasets-runs-and-scripts",
    "profile-": "reference/settings.md",
}


def place_of(url_name: str) -> str:
    """Return the page of docs/, with the heading after a `#`, that explains a page of the panel."""
    fitting = [key for key in PLACES if url_name == key or url_name.startswith(key.removesuffix("-") + "-")]
    return PLACES[max(fitting, key=len)] if fitting else START


def address_of(url_name: str) -> str:
    """Return the same below /help/, as the built site has it."""
    page, hash_sign, heading = place_of(url_name).partition("#")
    return f"{page.removesuffix('.md')}.html{hash_sign}{heading}"
