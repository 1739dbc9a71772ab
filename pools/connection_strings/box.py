"""The box on the pages of clusters and pools that says how to connect, in every format, password masked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from django.urls import reverse

from pools import connection_strings
from pools.advice import client_advice, modes
from pools.clusters import endpoints
from pools.clusters.endpoints import YOUR_ROLE, Endpoint
from pools.connection_strings import FILES, FORMATS, FRAMEWORK
from pools.errors import NoStandby
from pools.inventory import pooler_settings_validation
from pools.models import Cluster, Mode, NodeRole, Pool

MASK = "••••••••••••"
READ_ONLY = "A standby takes reads only, and may be a moment behind its primary."
PARAMETERS = "parameters"
LABELS = {PARAMETERS: "Parameters", FILES: "Files and tools", FRAMEWORK: "Framework"}
LABELS |= {key: one.label for key, one in FORMATS.items()}
GROUPS = {group: tuple(key for key, one in FORMATS.items() if one.group == group) for group in (FILES, FRAMEWORK)}
_FIRST, *_OTHERS = (key for key, one in FORMATS.items() if not one.group)
TABS = (_FIRST, PARAMETERS, *_OTHERS, FILES, FRAMEWORK)
FOR_CLUSTER = (PARAMETERS, *(tab for tab in TABS if tab != PARAMETERS))


@dataclass(frozen=True)
class Row:
    """One parameter; a masked one can't be copied."""

    label: str
    value: str
    copyable: bool = True


@dataclass(frozen=True)
class Text:
    """One tab: a text, rows of parameters, or `texts` to choose one of."""

    key: str
    label: str
    text: str = ""
    rows: tuple[Row, ...] = ()
    texts: tuple["Text", ...] = ()
    shown_as: str = ""


@dataclass(frozen=True)
class ConnectionTarget:
    """One endpoint in all its formats; `note` says what it asks of the client."""

    key: str
    label: str
    note: str
    endpoint: Endpoint
    formats: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """What the viewer chose: the password shown or not, the endpoint, the format per endpoint and its framework.

    `role` is whom a pool of the inbound user is shown for. `asks` for the viewer's own password before another is
    shown; `error` says why the one they gave did not do.
    """

    reveal: bool = False
    target: str = ""
    formats: tuple[tuple[str, str], ...] = ()
    asks: bool = False
    error: str = ""
    role: str = ""

    @classmethod
    def chosen(cls, post: Mapping[str, str]) -> "Shown":
        """Read from the box's own form."""
        formats = tuple((key[3:], value) for key, value in post.items() if key.startswith("as-"))
        return cls(bool(post.get("reveal")), post.get("endpoint", ""), formats, role=post.get("role", ""))


class ConnectionBox:
    """What includes/connection_box.html draws."""

    def __init__(self, url: str, targets: list[ConnectionTarget], shown: Shown, roles: list[str] | None = None) -> None:
        self.url = url
        self.roles, self.role = roles or [], shown.role
        self.targets = {target.key: target for target in targets}
        self.revealed, self.asks, self.error = shown.reveal, shown.asks, shown.error
        self.endpoint = shown.target if shown.target in self.targets else targets[0].key
        self.shown_as = dict(shown.formats)

    @property
    def knows_password(self) -> bool:
        """Whether there is a password to show."""
        return any(target.endpoint.password for target in self.targets.values())

    @property
    def endpoints(self) -> list[dict[str, object]]:
        """The ways with their tabs, the chosen ones marked."""
        return [
            {
                "key": target.key,
                "label": target.label,
                "note": target.note,
                "knows_password": bool(target.endpoint.password),
                "texts": [self._text(target, key) for key in target.formats],
                "shown_as": self.shown_as.get(target.key, target.formats[0]),
                "selected": target.key == self.endpoint,
            }
            for target in self.targets.values()
        ]

    def text(self, key: str, as_: str) -> str:
        """One text to copy, with the password where it is known."""
        target = self.targets.get(key) or next(iter(self.targets.values()))
        return connection_strings.render(target.endpoint, as_, reveal=True)

    def _text(self, target: ConnectionTarget, key: str) -> Text:
        if key == PARAMETERS:
            return Text(key, LABELS[key], rows=self._rows(target.endpoint))
        if group := GROUPS.get(key):
            shown_as = self.shown_as.get(f"{target.key}-{key}", group[0])
            return Text(key, LABELS[key], texts=tuple(self._text(target, one) for one in group), shown_as=shown_as)
        return Text(key, LABELS[key], connection_strings.render(target.endpoint, key, self.revealed))

    def _rows(self, endpoint: Endpoint) -> tuple[Row, ...]:
        password = Row("Password", "not known to the panel", copyable=False)
        if endpoint.password:
            password = Row("Password", endpoint.password if self.revealed else MASK, copyable=self.revealed)
        return (
            Row("Host", endpoint.host),
            Row("Port", str(endpoint.port)),
            Row("Database", endpoint.database),
            Row("User", endpoint.user),
            password,
            Row("SSL mode", str(endpoint.sslmode)),
        )


def of_cluster(cluster: Cluster, shown: Shown) -> ConnectionBox:
    """The cluster's primary and, where it has one, a standby, with the panel's own login."""
    standby = _standby(cluster, cluster.maintenance_database)
    label = "Primary" if standby else "Direct"
    targets = [ConnectionTarget("direct", label, "", endpoints.of_cluster(cluster), FOR_CLUSTER)]
    if standby:
        targets.append(ConnectionTarget("standby", "Standby", READ_ONLY, standby, FOR_CLUSTER))
    return ConnectionBox(reverse("cluster-connection", args=[cluster.pk]), targets, shown)


def of_pool(pool: Pool, shown: Shown) -> ConnectionBox:
    """The pool, and the cluster behind it for comparison: its primary and, where it has one, a standby."""
    asks = " ".join([modes.of(pool.mode).asks, *_of_prepared(pool)])
    roles = endpoints.roles_shown(pool)
    role = shown.role if shown.role in roles else ""
    if not pool.user:
        asks = f"Each role logs in as itself{_but(pool)}: put yours in the place of {role or YOUR_ROLE}. {asks}"
    pooled = ConnectionTarget("pooled", "Through the pool", asks, endpoints.of_pool(pool, role), TABS)
    note = f"Straight to cluster {pool.cluster}, past the pool."
    targets = [
        pooled,
        ConnectionTarget(
            "direct", "Direct", note, _as_in(pooled, endpoints.of_cluster(pool.cluster, pool.database)), TABS
        ),
    ]
    if standby := _standby(pool.cluster, pool.database):
        targets.append(ConnectionTarget("standby", "Standby", f"{note} {READ_ONLY}", _as_in(pooled, standby), TABS))
    return ConnectionBox(reverse("pool-connection", args=[pool.pk]), targets, replace(shown, role=role), roles)


def _but(pool: Pool) -> str:
    return "" if pool.login else ", superusers excepted"


def _of_prepared(pool: Pool) -> Iterator[str]:
    """What becomes of statements that a driver prepares, by the release; what is live is on the page of clients."""
    if pool.mode == Mode.SESSION:
        return
    major, minor = pooler_settings_validation.release_of(pool.pooler)
    if (major, minor) < client_advice.KEEPS_PREPARED:
        yield f"Turn prepared statements off in the driver: PgBouncer {major}.{minor} keeps none."
    else:
        yield "Statements that a driver prepares are kept while max_prepared_statements is above 0."


def _as_in(pooled: ConnectionTarget, straight: Endpoint) -> Endpoint:
    return replace(straight, user=pooled.endpoint.user, password=pooled.endpoint.password)


def _standby(cluster: Cluster, database: str) -> Endpoint | None:
    try:
        return endpoints.of_cluster(cluster, database, role=NodeRole.STANDBY)
    except NoStandby:
        return None
