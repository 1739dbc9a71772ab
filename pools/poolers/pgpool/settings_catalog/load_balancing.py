"""Which backend gets which query."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import choice, flag, number, on_page, text

MOST_BACKENDS = 8  # the panel offers weights for so many; the program takes 128
WEIGHT = _("Pgpool-II sends reads to backend {number} in this proportion (default {{default}}); 0 sends none.")
FLAG = _(
    "Pgpool-II may detach backend {number} with ALLOW_TO_FAILOVER, must not with DISALLOW_TO_FAILOVER, and takes it "
    "for the primary with ALWAYS_PRIMARY (default {{default}})."
)

SETTINGS = on_page(
    _("Load balancing"),
    "runtime-config-load-balancing",
    flag(
        "load_balance_mode",
        "1",
        _("Pgpool-II distributes reads over the backends by their weights (default {default})."),
        restart=True,
    ),
    flag(
        "statement_level_load_balance",
        "0",
        _("Pgpool-II chooses the backend for each read, and not once for each session (default {default})."),
    ),
    choice(
        "disable_load_balance_on_write",
        "transaction",
        _(
            "Pgpool-II sends reads after a write to the primary for this long (default {default}): until the end of "
            "the transaction, of all later ones (trans_transaction), for the written tables (dml_adaptive) or always."
        ),
        "off",
        "transaction",
        "trans_transaction",
        "dml_adaptive",
        "always",
    ),
    text(
        "dml_adaptive_object_relationship_list",
        "",
        _(
            "Pgpool-II reads these pairs table:dependent, separated by commas, to know what a write changes in the "
            "mode dml_adaptive (none by default)."
        ),
    ),
    flag(
        "ignore_leading_white_space",
        "1",
        _("Pgpool-II ignores white space before a query when it looks for reads (default {default})."),
    ),
    flag(
        "allow_sql_comments",
        "0",
        _("Pgpool-II ignores comments when it looks for reads, which otherwise go to the primary (default {default})."),
    ),
    text(
        "read_only_function_list",
        "",
        _(
            "Pgpool-II takes these functions for ones that do not write, and all others for writing (none by default); "
            "commas separate the names, which may be patterns."
        ),
    ),
    text(
        "write_function_list",
        "",
        _(
            "Pgpool-II takes these functions for ones that write, and all others for reading (none by default); commas "
            "separate the names, which may be patterns."
        ),
    ),
    text(
        "primary_routing_query_pattern_list",
        "",
        _(
            "Pgpool-II sends queries that match one of these patterns to the primary (none by default); semicolons "
            "separate the patterns."
        ),
    ),
    text(
        "database_redirect_preference_list",
        "",
        _(
            "Pgpool-II sends reads of these databases to a certain backend, as database:node with primary, standby or "
            "a number (none by default); commas separate the pairs."
        ),
    ),
    text(
        "app_name_redirect_preference_list",
        "",
        _(
            "Pgpool-II sends reads of these applications to a certain backend, as application_name:node (none by "
            "default); commas separate the pairs."
        ),
    ),
    text(
        "user_redirect_preference_list",
        "",
        _(
            "Pgpool-II sends reads of these users to a certain backend, as user:node (none by default); commas "
            "separate the pairs."
        ),
        since=(4, 5),
    ),
)
BACKENDS = on_page(
    _("Backends"),
    "runtime-config-backend-settings",
    *(
        number(f"backend_weight{backend}", "1", format_lazy(WEIGHT, number=backend), maximum=100_000_000)
        for backend in range(MOST_BACKENDS)
    ),
    *(
        choice(
            f"backend_flag{backend}",
            "ALLOW_TO_FAILOVER",
            format_lazy(FLAG, number=backend),
            "ALLOW_TO_FAILOVER",
            "DISALLOW_TO_FAILOVER",
            "DISALLOW_TO_FAILOVER|ALWAYS_PRIMARY",
        )
        for backend in range(MOST_BACKENDS)
    ),
)
