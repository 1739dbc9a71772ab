"""What a summary tells of the command line that made it; pure."""

from typing import Any

_BUILTINS = {
    "<builtin: TPC-B (sort of)>": "tpcb-like",
    "<builtin: simple update>": "simple-update",
    "<builtin: select only>": "select-only",
}


def options_said(summary: dict[str, Any]) -> dict[str, Any]:
    """What is known of the options, under their names."""
    asked = {
        "builtin": _BUILTINS.get(summary.get("transaction_type", "")),
        "clients": summary.get("clients"),
        "threads": summary.get("threads"),
        "duration": summary.get("duration_s"),
        "transactions": summary.get("transactions_per_client"),
        "protocol": summary.get("query_mode"),
        "latency_limit": summary.get("latency_limit_ms"),
        "max_tries": summary.get("max_tries"),
        "random_seed": summary.get("random_seed"),
    }
    return {name: value for name, value in asked.items() if value is not None}
