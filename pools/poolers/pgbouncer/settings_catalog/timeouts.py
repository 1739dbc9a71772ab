"""How long clients may wait, be idle or keep a transaction open."""

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds

SETTINGS = of_group(
    "Timeouts of clients",
    seconds("query_wait_timeout", "Wait for a server", "120", "Then the client is disconnected; 0 waits for ever"),
    number(
        "query_wait_notify",
        "Tell a waiting client after",
        "5",
        "By a notice; 0 never",
        unit="seconds",
        since=(1, 25),
    ),
    seconds("query_timeout", "Query", "0", "Longer ones are cancelled; 0 for no limit. Better statement_timeout"),
    seconds("idle_transaction_timeout", "Idle in transaction", "0", "Then the client is disconnected; 0 never"),
    seconds("transaction_timeout", "Transaction", "0", "Then the client is disconnected; 0 never", since=(1, 25)),
    seconds("client_idle_timeout", "Idle client", "0", "Then it is disconnected; 0 never. Only for network faults"),
    seconds("client_login_timeout", "Login within", "60", "Otherwise the client is disconnected"),
    seconds("cancel_wait_timeout", "Cancel request", "10", "Waits no longer for a server; 0 for ever", since=(1, 19)),
    seconds("suspend_timeout", "Suspend", "10", "How long SUSPEND and the online restart wait", until=(1, 26)),
)
