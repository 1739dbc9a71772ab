"""Examples of the operations on clusters, poolers and pools."""

from django.utils.translation import gettext_lazy as _

from core.rest.examples import Examples, Requests
from pools.api.entries import EntrySerializer
from pools.api.example_values import CLUSTER, POOLER, SERVER
from pools.api.insights import GroupSerializer

CLUSTERS: Requests = {
    "clusters_create": [
        (
            _("A server with its memory, on which runs that write have to be confirmed"),
            {
                "name": "orders",
                **SERVER,
                "admin_user": "pooldeck",
                "admin_password": "ADMIN-PASSWORD",
                "sslmode": "require",
                "memory_mb": 16384,
                "vcpus": 4,
                "protected": True,
            },
        ),
        (
            _("A server of this host, by the directory of its Unix socket"),
            {
                "name": "local",
                "host": "/var/run/postgresql",
                "port": 5432,
                "admin_user": "postgres",
                "sslmode": "disable",
            },
        ),
    ],
    "clusters_partial_update": [(_("More memory"), {"version": 3, "memory_mb": 32768})],
    "clusters_databases_create": [
        (_("A database for an application"), {"name": "orders", "owner": "orders_app", "encoding": "UTF8"})
    ],
    "clusters_databases_partial_update": [(_("A limit for its connections"), {"connection_limit": 50})],
    "clusters_users_create": [
        (
            _("A role that reads and writes one database"),
            {"name": "orders_app", "database": "orders", "access": "write", "connection_limit": 50},
        ),
        (
            _("A role that reads it until the end of a year"),
            {"name": "reports", "database": "orders", "access": "read", "valid_until": "2099-12-31T23:59:59Z"},
        ),
    ],
    "clusters_users_partial_update": [(_("No further logins"), {"can_login": False})],
}
POOLERS: Requests = {
    "poolers_create": [
        (
            _("A PgBouncer whose configuration the panel writes"),
            {
                "name": "pgbouncer-1",
                "kind": "pgbouncer",
                "host": "pgbouncer1.example.org",
                "port": 6432,
                "admin_user": "pooldeck",
                "admin_password": "CONSOLE-PASSWORD",
                "config_dir": "/etc/pgbouncer",
            },
        ),
        (
            _("A PgBouncer that is only watched, behind a virtual IP"),
            {
                "name": "pgbouncer-2",
                "host": "pgbouncer2.example.org",
                "port": 6432,
                "admin_user": "stats",
                "admin_password": "CONSOLE-PASSWORD",
                "client_host": "pool.example.org",
                "client_port": 5432,
            },
        ),
        (
            _("A Pgpool-II with its PCP port"),
            {
                "name": "pgpool-1",
                "kind": "pgpool",
                "host": "pgpool1.example.org",
                "port": 9999,
                "pcp_port": 9898,
                "admin_user": "pooldeck",
                "admin_password": "PCP-PASSWORD",
                "config_dir": "/etc/pgpool2",
            },
        ),
    ],
    "poolers_partial_update": [(_("More client connections"), {"version": 3, "settings": {"max_client_conn": 1000}})],
    "poolers_apply_create": [
        (_("Apply what is pending"), {}),
        (_("Replace manual edits of the files"), {"drift": "overwrite"}),
    ],
    "poolers_files_token_create": [
        (
            _("A token for the host that fetches them, for a year"),
            {"name": "db-1", "expires_at": "2099-12-31T23:59:59Z"},
        )
    ],
    "poolers_watch_create": [
        (
            _("Two consoles with one login"),
            {
                "lines": "pgbouncer1.example.org\npgbouncer2.example.org:6433\n",
                "admin_user": "stats",
                "admin_password": "CONSOLE-PASSWORD",
            },
        )
    ],
    "entries_kill_create": [
        (_("Drop its clients and servers"), {"confirm": EntrySerializer.example["name"], "hold_s": 30})
    ],
    "entries_logins_create": [
        (
            _("A login that the pooler lets in through the entry, used now and kept nowhere"),
            {"user": "orders_app", "password": "PASSWORD"},
        )
    ],
    "poolers_restrict_pools_create": [(_("Let in only the pools' own users"), {"confirm": "pgbouncer-1"})],
    "poolers_rollback_create": [(_("Return to revision 11"), {"revision": 11})],
    "poolers_take_over_create": [
        (_("What it would do"), {"config_file": "/etc/pgbouncer/pgbouncer.ini", "dry_run": True}),
        (_("Take over, and make pools of two entries"), {"entries": ["orders", "reports"]}),
    ],
}
HOSTS: Requests = {
    "hosts_create": [
        (
            _("A host, by the account that owns the pooler's files"),
            {"name": "db-1", "address": "db1.example.org", "user": "postgres"},
        )
    ],
    "hosts_partial_update": [(_("Another port"), {"version": 2, "port": 2222})],
}
POOLS: Requests = {
    "pools_create": [
        (
            _("A pool for one role in transaction mode"),
            {
                "name": "orders",
                "pooler": POOLER,
                "cluster": CLUSTER,
                "database": "orders",
                "user": "orders_app",
                "user_password": "ROLE-PASSWORD",
                "mode": "transaction",
                "size": 10,
            },
        ),
        (
            _("A pool to the standbys, for clients that log in as themselves"),
            {
                "name": "orders-readonly",
                "pooler": POOLER,
                "cluster": CLUSTER,
                "target": "standby",
                "database": "orders",
                "mode": "session",
                "size": 5,
            },
        ),
    ],
    "pools_partial_update": [(_("Another size, unless it was changed in the meantime"), {"version": 2, "size": 20})],
}
EVENTS_AND_SHELF: Requests = {
    "events_channels_create": [
        (
            _("A channel of Slack that is quiet at night"),
            {
                "name": "on-call",
                "url": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7",
                "quiet_from": "22:00:00",
                "quiet_until": "07:00:00",
                "time_zone": "Europe/Berlin",
            },
        )
    ],
    "events_channels_partial_update": [(_("Critical events wait for the morning too"), {"urgent_passes": False})],
    "events_thresholds_partial_update": [
        (_("Only if many clients wait for a minute"), {"opens_at": 10, "closes_at": 2, "for_s": 60})
    ],
    "shelf_create": [
        (
            _("A cluster that clients of /v2/ can claim"),
            {"cluster": CLUSTER, "size": "db-s-2vcpu-4gb", "region": "fra1", "pooler": POOLER},
        )
    ],
    "shelf_partial_update": [(_("Keep the databases when it is returned"), {"drop_on_return": False})],
}
SHOWN: dict[str, object] = {
    "count": 1,
    "next": None,
    "previous": None,
    "results": [
        {
            "database": "orders",
            "user": "orders_app",
            "cl_active": 8,
            "cl_waiting": 0,
            "sv_active": 8,
            "sv_idle": 2,
            "maxwait": 0,
            "pool_mode": "transaction",
        }
    ],
}

EXAMPLES = Examples(
    requests=CLUSTERS | POOLERS | HOSTS | POOLS | EVENTS_AND_SHELF,
    responses={"poolers_show_retrieve": SHOWN},
    changes={
        "clusters_insights_retrieve": {
            "by_role": [GroupSerializer.example | {"name": "orders_app"}],
            "by_application": [GroupSerializer.example | {"name": "checkout"}],
        },
        "clusters_partial_update": {"version": 4, "memory_mb": 32768},
        "clusters_update": {"version": 4},
        "events_acknowledge_create": {"acknowledged_at": "2026-03-05T16:05:11Z", "acknowledged_by": "admin"},
        "events_channels_partial_update": {"version": 2, "urgent_passes": False},
        "hosts_create": {"version": 1, "state": "unconfirmed", "host_key": None, "programs": {}, "found": []},
        "hosts_partial_update": {"version": 3, "port": 2222},
        "hosts_update": {"version": 3},
        "poolers_files_update": {
            "setting": "auth_hba_file",
            "subject": None,
            "issuer": None,
            "expires_at": None,
            "fingerprint": None,
        },
        "poolers_partial_update": {"version": 4, "settings": {"max_client_conn": 1000}, "settings_state": "pending"},
        "poolers_update": {"version": 4},
        "poolers_apply_create": {"settings_state": "pending", "pending": True},
        "poolers_files_token_create": {"name": "db-1", "scopes": ["apply"], "limited_to": POOLER},
        "pools_create": {"version": 1, "state": "pending", "updated_at": "2026-03-02T09:30:00Z"},
        "pools_update": {"version": 3, "state": "pending"},
        "pools_partial_update": {"version": 3, "size": 20, "state": "pending"},
        "pools_disable_create": {
            "disabled": True,
            "detail": "Pool orders refuses new clients until it is enabled; connected ones stay.",
        },
        "pools_kill_create": {
            "detail": "Dropped clients: 8; dropped server connections: 10. Pool orders accepts clients again."
        },
        "pools_pause_create": {
            "paused": True,
            "paused_until": "2026-03-05T16:17:00Z",
            "detail": "Pool orders is paused until 16:17.",
        },
        "pools_reconnect_create": {"detail": "3 of 10 server connections are in use and are replaced when released."},
        "pools_resume_create": {"detail": "Pool orders is running."},
    },
)
