"""The operations on clusters, poolers, pools, hosts and events; see `core.accounts.operations`."""

from django.utils.translation import gettext_lazy as _

from core.accounts.models import Role, Scope
from core.accounts.operations import OF_CLUSTER, OF_FILES, OF_POOL, Audience, Operation

OPERATIONS = (
    Operation("dashboard.view", _("See the dashboard, of what the teams have"), Audience.USERS, Scope.READ),
    Operation(
        "metrics.read", _("Read the metrics, of what the teams have"), Audience.USERS, Scope.READ, limits=OF_POOL
    ),
    Operation("record.find", _("Search for clusters, poolers and pools in forms"), Audience.USERS, Scope.READ),
    Operation("tool.view", _("See how tools connect to pools"), Audience.USERS, Scope.READ),
    Operation("cluster.view", _("See clusters, their databases, roles and insights"), Role.VIEWER, Scope.READ),
    Operation("cluster.check", _("Check clusters and their nodes"), Role.OPERATOR, Scope.ADMIN, limits=OF_CLUSTER),
    Operation(
        "cluster.end_session",
        _("Cancel statements and terminate sessions of clusters"),
        Role.OPERATOR,
        Scope.APPLY,
        limits=OF_CLUSTER,
    ),
    Operation("cluster.create", _("Register clusters"), Role.OWNER, Scope.ADMIN),
    Operation("cluster.change", _("Change clusters and their nodes"), Role.OWNER, Scope.ADMIN, limits=OF_CLUSTER),
    Operation("cluster.remove", _("Remove clusters"), Role.OWNER, Scope.ADMIN, limits=OF_CLUSTER),
    Operation(
        "cluster.reveal", _("Reveal the passwords of a cluster's roles"), Role.OWNER, Scope.ADMIN, limits=OF_CLUSTER
    ),
    Operation(
        "database.change",
        _("Create, change and drop databases of a cluster"),
        Role.OWNER,
        Scope.ADMIN,
        limits=OF_CLUSTER,
    ),
    Operation(
        "role.change", _("Create, change and drop roles of a cluster"), Role.OWNER, Scope.ADMIN, limits=OF_CLUSTER
    ),
    Operation("approval.view", _("See acts that wait for a second person"), Role.VIEWER, Scope.READ),
    Operation("approval.decide", _("Approve or reject what another person asked for"), Role.OPERATOR, Scope.APPLY),
    Operation("shelf.view", _("See the shelf"), Role.VIEWER, Scope.READ),
    Operation("shelf.change", _("Put clusters on the shelf and take them off"), Role.OWNER, Scope.ADMIN),
    Operation("pooler.view", _("See poolers, their settings, revisions and console tables"), Role.VIEWER, Scope.READ),
    Operation("pooler.check", _("Check poolers"), Role.OPERATOR, Scope.ADMIN),
    Operation("pooler.apply", _("Apply configurations and roll them back"), Role.OPERATOR, Scope.APPLY),
    Operation("pooler.restrict", _("Restrict who may log in to pools"), Role.OPERATOR, Scope.APPLY),
    Operation("pooler.attach", _("Attach and detach nodes of a pooler"), Role.OPERATOR, Scope.APPLY),
    Operation("pooler.create", _("Register poolers"), Role.OWNER, Scope.ADMIN),
    Operation("pooler.change", _("Change poolers, their settings and given files"), Role.OWNER, Scope.ADMIN),
    Operation("pooler.remove", _("Remove poolers"), Role.OWNER, Scope.ADMIN),
    Operation("pooler.take_over", _("Take poolers over and let them go"), Role.OWNER, Scope.APPLY),
    Operation(
        "pooler.files",
        _("Read the files of a pooler, which hold its secrets"),
        Role.OWNER,
        Scope.APPLY,
        limits=OF_FILES,
    ),
    Operation("pooler.fetches", _("See who fetched the files of a pooler"), Role.OWNER, Scope.ADMIN),
    Operation("host.view", _("See hosts"), Role.OWNER, Scope.ADMIN),
    Operation("host.use", _("Choose a host for poolers, generators and as a jump host"), Role.OPERATOR, Scope.APPLY),
    Operation("host.create", _("Register hosts"), Role.OWNER, Scope.ADMIN),
    Operation("host.change", _("Change, check and search hosts, and confirm their keys"), Role.OWNER, Scope.ADMIN),
    Operation("host.remove", _("Remove hosts"), Role.OWNER, Scope.ADMIN),
    Operation("pool.view", _("See pools, and copy connection strings without passwords"), Role.VIEWER, Scope.READ),
    Operation(
        "pool.reveal",
        _("Reveal the password of a pool"),
        Role.OPERATOR,
        Scope.ADMIN,
        eased_by="password_for_developers",
        eased_role=Role.DEVELOPER,
        limits=OF_POOL,
    ),
    Operation("pool.logins", _("Measure what a login costs"), Role.DEVELOPER, Scope.RUN, limits=OF_POOL),
    Operation(
        "pool.check", _("Check which pool mode the clients of a pool allow"), Role.OPERATOR, Scope.APPLY, limits=OF_POOL
    ),
    Operation("pool.create", _("Create pools"), Role.OPERATOR, Scope.APPLY),
    Operation("pool.change", _("Change pools"), Role.OPERATOR, Scope.APPLY, limits=OF_POOL),
    Operation("pool.remove", _("Remove pools"), Role.OPERATOR, Scope.APPLY, limits=OF_POOL),
    Operation(
        "pool.console",
        _("Pause, resume, kill and reconnect pools, and disconnect their clients"),
        Role.OPERATOR,
        Scope.APPLY,
        limits=OF_POOL,
    ),
    Operation("entry.view", _("See entries that are not managed here"), Role.VIEWER, Scope.READ),
    Operation("entry.reveal", _("Reveal the login of the cluster behind an entry"), Role.OWNER, Scope.ADMIN),
    Operation("entry.logins", _("Measure what a login to an entry costs"), Role.OPERATOR, Scope.APPLY),
    Operation("entry.check", _("Check which pool mode the clients of an entry allow"), Role.OPERATOR, Scope.APPLY),
    Operation(
        "entry.console",
        _("Pause, resume, kill and reconnect entries, and disconnect their clients"),
        Role.OPERATOR,
        Scope.APPLY,
    ),
    Operation("event.view", _("See events"), Role.VIEWER, Scope.READ),
    Operation("event.acknowledge", _("Acknowledge events"), Role.OPERATOR, Scope.APPLY, limits=OF_POOL),
    Operation("threshold.view", _("See the thresholds of events"), Audience.USERS, Scope.READ),
    Operation("threshold.change", _("Change the thresholds of events, and test notices"), Audience.ADMINS, Scope.ADMIN),
    Operation("channel.view", _("See the channels of notices"), Audience.ADMINS, Scope.ADMIN),
    Operation("channel.change", _("Add, change, test and remove channels of notices"), Audience.ADMINS, Scope.ADMIN),
)
