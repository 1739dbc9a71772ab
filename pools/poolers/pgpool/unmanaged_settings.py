"""Settings of a Pgpool-II that the panel doesn't offer, each with the reason."""

import re

BY_THE_PANEL = "the panel writes it from the cluster and its nodes"
OPERATOR = "it belongs to the place the program runs at: it stays in the operator's part of pgpool.conf"
SECRET = "passwords stay out of pgpool.conf: it looks into pool_passwd, which the panel writes"  # noqa: S105
COMMAND = "it runs a command on the pooler's host: it stays in the hands of who may log in there"
WATCHDOG = "the watchdog ties several Pgpool-IIs together: it is set up on their hosts"
ALL_ALIKE = "the setting without a number is for all backends alike"
OLD = "an older name of backend_clustering_mode"
TEST = "for the program's own tests"

PER_BACKEND = re.compile(r"health_check_(period|timeout|database|max_retries|retry_delay)|connect_timeout")
REASONS: tuple[tuple[str, str], ...] = (
    (r"backend_(hostname|port|application_name)", BY_THE_PANEL),
    (r"enable_pool_hba|health_check_user|sr_check_user", BY_THE_PANEL),
    (r"(pcp_)?listen_addresses|(pcp_)?port|(pcp_)?socket_dir|unix_socket_(directories|group|permissions)", OPERATOR),
    (r"pid_file_name|logdir|work_dir|pool_passwd|backend_data_directory|ssl_ca_cert_dir|log_file_mode", OPERATOR),
    (r"recovery_(user|database)", OPERATOR),
    (r"(health_check|sr_check|recovery)_password", SECRET),
    (r"(failover|failback|follow_primary|recovery_[12]\w+_stage|ssl_passphrase|trusted_server)_command", COMMAND),
    (r"(wd|heartbeat|other_pgpool|delegate|if|arping)_\w+|hostname|pgpool_port|use_watchdog|trusted_servers", WATCHDOG),
    (r"ping_path|clear_memqcache_on_escalation|failover_when_quorum_exists|failover_require_consensus", WATCHDOG),
    (r"allow_multiple_failover_requests_from_node|enable_consensus_with_half_votes", WATCHDOG),
    (r"replication_mode", OLD),
    (r"health_check_test", TEST),
)


def reason_for(name: str) -> str:
    """Why the panel doesn't write this setting (`backend_port1` as `backend_port`); empty where it is unknown."""
    plain = name.rstrip("0123456789")
    if plain != name and PER_BACKEND.fullmatch(plain):
        return ALL_ALIKE
    return next((why for pattern, why in REASONS if re.fullmatch(pattern, plain, re.IGNORECASE)), "")
