"""What an entry of [users] takes: limits of one user over all pools."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import MODES, choice, number, of_group
from pools.poolers.settings_schema import Scope

OF_USER = {"scope": Scope.USER}
TIME = {"unit": "seconds", **OF_USER}

SETTINGS = of_group(
    _("Limits"),
    choice("pool_mode", _("Mode"), MODES, "", _("Instead of the pools' own"), **OF_USER),
    number("max_user_connections", _("Server connections"), "", _("Over all pools; 0 for no limit"), **OF_USER),
    number("max_user_client_connections", _("Clients"), "", _("At once; 0 for no limit"), since=(1, 24), **OF_USER),
    number("pool_size", _("Pool size"), "", _("Of each of its pools, instead of the pool's"), since=(1, 23), **OF_USER),
    number("reserve_pool_size", _("Reserve"), "", _("Of each of its pools"), since=(1, 24), **OF_USER),
    number("query_timeout", _("Query"), "", _("Longer ones are cancelled; 0 for no limit"), since=(1, 24), **TIME),
    number("query_wait_timeout", _("Wait for a server"), "", _("Then it is disconnected"), since=(1, 26), **TIME),
    number(
        "idle_transaction_timeout", _("Idle in transaction"), "", _("Then it is disconnected"), since=(1, 24), **TIME
    ),
    number("transaction_timeout", _("Transaction"), "", _("Then it is disconnected"), since=(1, 25), **TIME),
    number("client_idle_timeout", _("Idle client"), "", _("Then it is disconnected"), since=(1, 24), **TIME),
)
