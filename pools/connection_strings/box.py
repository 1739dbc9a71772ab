"""The box on the pages of clusters and pools that shows how to connect, in every format, password masked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools import connection_strings
from pools.advice import client_limits, modes
from pools.clusters import endpoints
from pools.clusters.endpoints import YOUR_ROLE, Endpoint
from pools.connection_strings import FILES, FORMATS, FRAMEWORK
from pools.errors import NoStandby
from pools.inventory import pooler_settings_validation
from pools.models import Cluster, Entry, Mode, NodeRole, Pool, Pooler

MASK = "••••••••••••"
READ_ONLY = gettext_lazy("A standby accepts reads only, and may be a moment behind its primary.")
PARAMETERS = "parameters"
LABELS: dict[str, str | Promise] = {
    PARAMETERS: gettext_lazy("Parameters"),
    FILES: gettext_lazy("Files and tools"),
    FRAMEWORK: gettext_lazy("Framework"),
}
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
    label: str | Promise
    text: str = ""
    rows: tuple[Row, ...] = ()
    texts: tuple["Text", ...] = ()
    shown_as: str = ""


@dataclass(frozen=True)
class ConnectionTarget:
    """One endpoint in all its formats; `note` says what it requires of the client."""

    key: str
    label: str
    note: str
    endpoint: Endpoint
    formats: tuple[str, ...]


@dataclass(frozen=True)
class BoxChoices:
    """The viewer's choices: the password shown or not, the endpoint, the format per endpoint and its framework.

    `role` is the role that a pool of the inbound user is shown for. `asks`: the viewer's own password is required
    before another is shown; `error` is why the given one was refused.
    """

    reveal: bool = False
    target: str = ""
    formats: tuple[tuple[str, str], ...] = ()
    asks: bool = False
    error: str = ""
    role: str = ""

    @classmethod
    def chosen(cls, post: Mapping[str, str]) -> "BoxChoices":
        formats = tuple((key[3:], value) for key, value in post.items() if key.startswith("as-"))
        return cls(bool(post.get("reveal")), post.get("endpoint", ""), formats, role=post.get("role", ""))


class ConnectionBox:
    """The context of includes/connection_box.html."""

    def __init__(
        self, url: str, targets: list[ConnectionTarget], shown: BoxChoices, roles: list[str] | None = None
    ) -> None:
        self.url = url
        self.roles, self.role = roles or [], shown.role
        self.targets = {target.key: target for target in targets}
        self.revealed, self.asks, self.error = shown.reveal, shown.asks, shown.error
        self.endpoint = shown.target if shown.target in self.targets else targets[0].key
        self.shown_as = dict(shown.formats)

    @property
    def knows_password(self) -> bool:
        return any(target.endpoint.password for target in self.targets.values())

    @property
    def endpoints(self) -> list[dict[str, object]]:
        """The endpoints with their tabs, the chosen ones marked."""
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
        """Return one text to copy, with the password where it is known."""
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
        password = Row(_("Password"), _("not known to the panel"), copyable=False)
        if endpoint.password:
            password = Row(_("Password"), endpoint.password if self.revealed else MASK, copyable=self.revealed)
        return (
            Row(_("Host"), endpoint.host),
            Row(_("Port"), str(endpoint.port)),
            Row(_("Database"), endpoint.database),
            Row(_("User"), endpoint.user),
            password,
            Row(_("SSL mode"), str(endpoint.sslmode)),
        )


def of_cluster(cluster: Cluster, shown: BoxChoices) -> ConnectionBox:
    """Return the box of a cluster's primary and, where it has one, a standby, with the panel's own login."""
    standby = _standby(cluster, cluster.maintenance_database)
    label = _("Primary") if standby else _("Direct")
    targets = [ConnectionTarget("direct", label, "", endpoints.of_cluster(cluster), FOR_CLUSTER)]
    if standby:
        targets.append(ConnectionTarget("standby", _("Standby"), str(READ_ONLY), standby, FOR_CLUSTER))
    return ConnectionBox(reverse("cluster-connection", args=[cluster.pk]), targets, shown)


def of_pool(pool: Pool, shown: BoxChoices) -> ConnectionBox:
    """Return the box of a pool and of the cluster behind it: its primary and, where it has one, a standby."""
    roles = endpoints.roles_shown(pool)
    role = shown.role if shown.role in roles else ""
    through = endpoints.of_pool(pool, role)
    notes = [*_of_inbound_user(pool, role), str(modes.of(pool.mode).asks), *_of_prepared(pool.mode, pool.pooler)]
    pooled = [ConnectionTarget("pooled", _("Through the pool"), " ".join(notes), through, TABS)]
    note = _("Directly to cluster %(cluster)s, bypassing the pool.") % {"cluster": pool.cluster}
    if pool.was_never_live:
        pooled, note = [], f"{_not_through(pool)} {note}"  # two sentences
    straight = _as_in(through, endpoints.of_cluster(pool.cluster, pool.database))
    targets = [*pooled, ConnectionTarget("direct", _("Direct"), note, straight, TABS)]
    if standby := _standby(pool.cluster, pool.database):
        read_only = f"{note} {READ_ONLY}"  # two sentences
        targets.append(ConnectionTarget("standby", _("Standby"), read_only, _as_in(through, standby), TABS))
    return ConnectionBox(reverse("pool-connection", args=[pool.pk]), targets, replace(shown, role=role), roles)


def of_entry(entry: Entry, shown: BoxChoices) -> ConnectionBox:
    """Return the box of an entry that is not managed here and, where it is registered, of the cluster behind it."""
    through = endpoints.of_entry(entry)
    notes = [_("The panel knows no password of it: clients log in as the pooler's operator has arranged.")]
    notes += [str(modes.of(entry.mode).asks), *_of_prepared(entry.mode, entry.pooler)]
    targets = [ConnectionTarget("pooled", _("Through the pooler"), " ".join(notes), through, TABS)]
    if entry.cluster:
        note = _("Directly to cluster %(cluster)s, bypassing the pooler.") % {"cluster": entry.cluster}
        straight = endpoints.of_cluster(entry.cluster, entry.database or None)
        targets.append(ConnectionTarget("direct", _("Direct"), note, _as_in(through, straight), TABS))
    return ConnectionBox(reverse("entry-connection", args=[entry.pk]), targets, shown)


def _of_inbound_user(pool: Pool, role: str) -> Iterator[str]:
    if pool.user:
        return
    if pool.login:
        text = _("Each role logs in as itself: replace %(role)s with the name of your role.")
    else:
        text = _("Each role except superusers logs in as itself: replace %(role)s with the name of your role.")
    yield text % {"role": role or YOUR_ROLE}


def _of_prepared(mode: str, pooler: Pooler) -> Iterator[str]:
    """Yield whether statements that a driver prepares are kept, by the release; the clients page has live values."""
    if mode == Mode.SESSION:
        return
    major, minor = pooler_settings_validation.release_of(pooler)
    if (major, minor) < client_limits.KEEPS_PREPARED:
        text = _("Turn prepared statements off in the driver: PgBouncer %(release)s keeps none.")
        yield text % {"release": f"{major}.{minor}"}
    else:
        yield _("Statements that a driver prepares are kept while max_prepared_statements is above 0.")


def _as_in(through: Endpoint, straight: Endpoint) -> Endpoint:
    return replace(straight, user=through.user, password=through.password)


def _not_through(pool: Pool) -> str:
    text = _("Pool %(pool)s was refused before it was ever live, so it has no connection string.")
    return text % {"pool": pool}


def _standby(cluster: Cluster, database: str) -> Endpoint | None:
    try:
        return endpoints.of_cluster(cluster, database, role=NodeRole.STANDBY)
    except NoStandby:
        return None
