"""What an entry of [users] takes: limits of one user over all pools."""

from pools.poolers.pgbouncer.settings_catalog.shapes import MODES, choice, number, of_group
from pools.poolers.settings_schema import Scope

OF_USER = {"scope": Scope.USER}
TIME = {"unit": "seconds", **OF_USER}

SETTINGS = of_group(
    "Limits",
    choice("pool_mode", "Mode", MODES, "", "Instead of the pools' own", **OF_USER),
    number("max_user_connections", "Server connections", "", "Over all pools; 0 for no limit", **OF_USER),
    number("max_user_client_connections", "Clients", "", "At once; 0 for no limit", since=(1, 24), **OF_USER),
    number("pool_size", "Pool size", "", "Of each of its pools, instead of the pool's", since=(1, 23), **OF_USER),
    number("reserve_pool_size", "Reserve", "", "Of each of its pools", since=(1, 24), **OF_USER),
    number("query_timeout", "Query", "", "Longer ones are cancelled; 0 for no limit", since=(1, 24), **TIME),
    number("query_wait_timeout", "Wait for a server", "", "Then it is disconnected", since=(1, 26), **TIME),
    number("idle_transaction_timeout", "Idle in transaction", "", "Then it is disconnected", since=(1, 24), **TIME),
    number("transaction_timeout", "Transaction", "", "Then it is disconnected", since=(1, 25), **TIME),
    number("client_idle_timeout", "Idle client", "", "Then it is disconnected", since=(1, 24), **TIME),
)
