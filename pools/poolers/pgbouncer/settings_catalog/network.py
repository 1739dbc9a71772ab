"""DNS and the sockets beneath."""

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds, switch, text

DNS = of_group(
    "DNS",
    seconds("dns_max_ttl", "Keep answers for", "15", "Whatever the answer itself says"),
    seconds("dns_nxdomain_ttl", "Keep failures for", "15", "Names that are not there"),
    seconds(
        "dns_zone_check_period",
        "ConsoleSnapshot at zones every",
        "0",
        "A changed serial asks for its names anew; 0 never",
    ),
    text(
        "resolv_conf",
        "Resolver's file",
        "",
        "The absolute path of a resolv.conf on its host; empty: the system's",
        pattern=r"/.+",
        restart=True,
    ),
)
SOCKETS = of_group(
    "Network",
    number("pkt_buf", "Packet buffer", "4096", "Of each connection in use", unit="bytes", minimum=64, restart=True),
    number(
        "max_packet_size",
        "Largest packet",
        "2147483647",
        "A query or a row beyond it ends its connection",
        unit="bytes",
        minimum=1,
    ),
    number("sbuf_loopcnt", "Buffers in one go", "5", "Then another connection has its turn; 0 for no limit"),
    switch("tcp_defer_accept", "Wake for data only", "1", "The system's TCP_DEFER_ACCEPT"),
    number("tcp_socket_buffer", "Socket buffer", "0", "0 is the system's choice", unit="bytes"),
    switch("tcp_keepalive", "Keepalive", "1", "Finds out about peers that are gone"),
    number(
        "tcp_keepcnt", "Keepalive probes", "0", "Unanswered until the peer is given up; 0: the system's", maximum=127
    ),
    number(
        "tcp_keepidle", "Keepalive after", "0", "Of silence; 0 is the system's choice", unit="seconds", maximum=32767
    ),
    number(
        "tcp_keepintvl",
        "Keepalive every",
        "0",
        "Between probes; 0 is the system's choice",
        unit="seconds",
        maximum=32767,
    ),
    number("tcp_user_timeout", "Unanswered data", "0", "Then the peer is given up; 0: the system's", unit="ms"),
)
SETTINGS = DNS + SOCKETS
