"""DNS and the sockets beneath."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds, switch, text

DNS = of_group(
    _("DNS"),
    seconds("dns_max_ttl", _("Keep answers for"), "15", _("Whatever the answer itself says")),
    seconds("dns_nxdomain_ttl", _("Keep failures for"), "15", _("Names that are not there")),
    seconds(
        "dns_zone_check_period",
        _("Check zones every"),
        "0",
        _("A changed serial asks for its names anew; 0 never"),
    ),
    text(
        "resolv_conf",
        _("Resolver's file"),
        "",
        _("The absolute path of a resolv.conf on its host; empty: the system's"),
        pattern=r"/.+",
        restart=True,
    ),
)
SOCKETS = of_group(
    _("Network"),
    number(
        "pkt_buf", _("Packet buffer"), "4096", _("Of each connection in use"), unit="bytes", minimum=64, restart=True
    ),
    number(
        "max_packet_size",
        _("Largest packet"),
        "2147483647",
        _("A query or a row beyond it ends its connection"),
        unit="bytes",
        minimum=1,
    ),
    number("sbuf_loopcnt", _("Buffers in one go"), "5", _("Then another connection has its turn; 0 for no limit")),
    switch("tcp_defer_accept", _("Wake for data only"), "1", _("The system's TCP_DEFER_ACCEPT")),
    number("tcp_socket_buffer", _("Socket buffer"), "0", _("0 is the system's choice"), unit="bytes"),
    switch("tcp_keepalive", _("Keepalive"), "1", _("Finds out about peers that are gone")),
    number(
        "tcp_keepcnt",
        _("Keepalive probes"),
        "0",
        _("Unanswered until the peer is given up; 0: the system's"),
        maximum=127,
    ),
    number(
        "tcp_keepidle",
        _("Keepalive after"),
        "0",
        _("Of silence; 0 is the system's choice"),
        unit="seconds",
        maximum=32767,
    ),
    number(
        "tcp_keepintvl",
        _("Keepalive every"),
        "0",
        _("Between probes; 0 is the system's choice"),
        unit="seconds",
        maximum=32767,
    ),
    number("tcp_user_timeout", _("Unanswered data"), "0", _("Then the peer is given up; 0: the system's"), unit="ms"),
)
SETTINGS = DNS + SOCKETS
