"""The playbook of a question to a pool, as TOML; pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import tomli_w
from django.utils.translation import gettext as _

from benchmarks.experiments.advice.grid import Cell
from benchmarks.experiments.playbook import EndpointTable

NAME = "pool-size"
METRICS = ["tps", "latency_avg_ms"]
THREADS = 2
CONNECTIONS = "connections"  # the axis of how clients use them
KEPT, RECONNECTING, CROWD = "kept", "reconnecting", "crowd"
Options = Mapping[str, object]


@dataclass(frozen=True)
class Clients:
    """The clients of "direct or pooled?"; `crowd` is the number beyond what the server lets in, 0: none.

    The load of the crowd lasts longer, since its logins take a part of it.
    """

    connections: Sequence[str]
    crowd: int = 0
    crowd_s: int = 0


def of_sizes(title: str, options: Options, cells: Collection[Cell], kind: str, mode: str) -> str:
    """Return the sweep's playbook, clients first; in each row the smallest pool is the baseline."""
    found = sorted({size for size, _clients in cells})
    sizes = [
        _value(str(one), _("size %(size)s") % {"size": one}, EndpointTable(kind=kind, size=one, mode=mode))
        for one in found
    ]
    axes = {"clients": sorted({clients for _size, clients in cells}), "size": sizes}
    return _playbook(title, options, axes, {"size": str(found[0])})


def of_busy_connections(title: str, options: Options, sizes: Sequence[int], expected: int) -> str:
    """Return the playbook of an entry whose size can't be changed: so many clients keep so many connections busy."""
    label = _("%(size)s busy connections")
    busy = [{"key": str(one), "label": label % {"size": one}, "options": {"clients": one}} for one in sizes]
    return _playbook(title, options, {"clients": [expected], "size": busy}, {"size": str(sizes[0])})


def of_modes(title: str, options: Options, modes: Sequence[str], kind: str, size: int) -> str:
    """Return the playbook of pools of one size in several modes; the first is the baseline."""
    values = [_value(one, one, EndpointTable(kind=kind, size=size, mode=one)) for one in modes]
    return _playbook(title, options, {"endpoint": values}, {"endpoint": modes[0]})


def of_pooling(title: str, options: Options, pooled: EndpointTable, clients: Clients) -> str:
    """Return the playbook of a pool beside the direct connection, which is the baseline.

    More clients than the server lets in come through the pool alone: directly they would take the connections of
    everybody who uses the server, and be refused.
    """
    values = [_value("direct", "direct", {"kind": "direct"}), _value("pooled", "pooled", pooled)]
    sets = {
        KEPT: (_("kept connections"), {}),
        RECONNECTING: (_("reconnecting clients"), {"connect": True}),
        CROWD: (
            _("%(clients)s clients") % {"clients": clients.crowd},
            {"clients": clients.crowd, "duration": clients.crowd_s},
        ),
    }
    connections = [{"key": key, "label": sets[key][0], "options": sets[key][1]} for key in clients.connections]
    alone = [{CONNECTIONS: CROWD, "endpoint": "direct"}] if CROWD in clients.connections else []
    axes = {CONNECTIONS: connections, "endpoint": values}
    return _playbook(title, options, axes, {"endpoint": "direct"}, exclude=alone)


def _playbook(
    title: str, options: Options, axes: Mapping[str, object], baseline: Mapping[str, str], **more: Sequence[object]
) -> str:
    parts: dict[str, object] = {"name": NAME, "title": title, "baseline": baseline, "metrics": METRICS, **more}
    own: dict[str, object] = {"threads": THREADS, **options}
    parts |= {"options": own, "axes": axes, "quick": {}, "published_scale": {}}
    return tomli_w.dumps({name: _without_none(one) for name, one in parts.items()})


def _without_none(value: object) -> object:
    """Return the value without what is None, which TOML has no word for."""
    if isinstance(value, Mapping):
        return {name: _without_none(one) for name, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list | tuple) else value


def _value(key: str, label: str, endpoint: EndpointTable) -> dict[str, object]:
    return {"key": key, "label": label, "endpoint": endpoint}
