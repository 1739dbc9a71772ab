"""How long clients may wait, be idle or keep a transaction open."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds

SETTINGS = of_group(
    _("Timeouts of clients"),
    seconds(
        "query_wait_timeout", _("Wait for a server"), "120", _("Then the client is disconnected; 0 waits for ever")
    ),
    number(
        "query_wait_notify",
        _("Tell a waiting client after"),
        "5",
        _("By a notice; 0 never"),
        unit="seconds",
        since=(1, 25),
    ),
    seconds("query_timeout", _("Query"), "0", _("Longer ones are cancelled; 0 for no limit. Better statement_timeout")),
    seconds("idle_transaction_timeout", _("Idle in transaction"), "0", _("Then the client is disconnected; 0 never")),
    seconds("transaction_timeout", _("Transaction"), "0", _("Then the client is disconnected; 0 never"), since=(1, 25)),
    seconds(
        "client_idle_timeout", _("Idle client"), "0", _("Then it is disconnected; 0 never. Only for network faults")
    ),
    seconds("client_login_timeout", _("Login within"), "60", _("Otherwise the client is disconnected")),
    seconds(
        "cancel_wait_timeout", _("Cancel request"), "10", _("Waits no longer for a server; 0 for ever"), since=(1, 19)
    ),
    seconds("suspend_timeout", _("Suspend"), "10", _("How long SUSPEND and the online restart wait"), until=(1, 26)),
)
