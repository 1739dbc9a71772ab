"""DNS and the sockets beneath."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds, switch, text

DNS = of_group(
    _("DNS"),
    seconds(
        "dns_max_ttl",
        "15",
        _("PgBouncer caches a DNS answer for at most this many seconds, whatever its own TTL (default {default})."),
    ),
    seconds(
        "dns_nxdomain_ttl",
        "15",
        _("PgBouncer caches a failed DNS lookup for this many seconds (default {default})."),
    ),
    seconds(
        "dns_zone_check_period",
        "0",
        _(
            "PgBouncer compares the serials of its DNS zones at intervals of this many seconds, and looks up the names "
            "of a changed zone again (default {default}); 0 turns the check off."
        ),
    ),
    text(
        "resolv_conf",
        "",
        _(
            "PgBouncer reads its name servers from this file, an absolute path on its host; the system's own "
            "configuration is the default."
        ),
        pattern=r"/.+",
        restart=True,
    ),
)
SOCKETS = of_group(
    _("Network"),
    number(
        "pkt_buf",
        "4096",
        _("PgBouncer uses a buffer of this many bytes for the packets of each active connection (default {default})."),
        unit="bytes",
        minimum=64,
        restart=True,
    ),
    number(
        "max_packet_size",
        "2147483647",
        _(
            "PgBouncer passes on packets of at most this many bytes (default {default}); a longer query or row ends "
            "its connection."
        ),
        unit="bytes",
        minimum=1,
    ),
    number(
        "sbuf_loopcnt",
        "5",
        _(
            "PgBouncer processes this many packet buffers of one connection before it turns to the next "
            "(default {default}); 0 means no limit."
        ),
    ),
    switch(
        "tcp_defer_accept",
        "1",
        _("The kernel wakes PgBouncer for a new connection only when data has arrived on it (default {default})."),
    ),
    number(
        "tcp_socket_buffer",
        "0",
        _("The kernel gives each TCP socket a buffer of this many bytes (default {default}); 0 means its own choice."),
        unit="bytes",
    ),
    switch(
        "tcp_keepalive",
        "1",
        _("The kernel sends TCP keepalive probes, which find out about peers that are gone (default {default})."),
    ),
    number(
        "tcp_keepcnt",
        "0",
        _(
            "The kernel gives a peer up after this many unanswered keepalive probes (default {default}); 0 means its "
            "own choice."
        ),
        maximum=127,
    ),
    number(
        "tcp_keepidle",
        "0",
        _(
            "The kernel sends the first keepalive probe after this many seconds of silence (default {default}); 0 "
            "means its own choice."
        ),
        unit="s",
        maximum=32767,
    ),
    number(
        "tcp_keepintvl",
        "0",
        _(
            "The kernel waits this many seconds between two keepalive probes (default {default}); 0 means its own "
            "choice."
        ),
        unit="s",
        maximum=32767,
    ),
    number(
        "tcp_user_timeout",
        "0",
        _(
            "The kernel closes a connection whose data stays unacknowledged for this many milliseconds "
            "(default {default}); 0 means its own choice."
        ),
        unit="ms",
    ),
)
SETTINGS = DNS + SOCKETS
