"""The operations on runs, experiments and what they are made of; see `core.accounts.operations`."""

from django.utils.translation import gettext_lazy as _

from core.accounts.models import Role, Scope
from core.accounts.operations import OF_CLUSTER, OF_POOL, Audience, Operation

OPERATIONS = (
    Operation("run.view", _("See runs, compare and export them"), Role.VIEWER, Scope.READ),
    Operation("run.start", _("Start runs within the run limits"), Role.DEVELOPER, Scope.RUN, limits=OF_POOL),
    Operation("run.cancel", _("Cancel runs"), Role.DEVELOPER, Scope.RUN, limits=OF_POOL),
    Operation("run.annotate", _("Annotate runs and make one the baseline"), Role.DEVELOPER, Scope.RUN, limits=OF_POOL),
    Operation("run.import", _("Import the output of load programs"), Role.DEVELOPER, Scope.RUN),
    Operation("link.manage", _("Show runs, comparisons and experiments by links"), Role.OPERATOR, Scope.APPLY),
    Operation("dataset.view", _("See datasets"), Role.VIEWER, Scope.READ),
    Operation("dataset.create", _("Create datasets"), Role.OPERATOR, Scope.RUN, limits=OF_CLUSTER),
    Operation("experiment.view", _("See experiments and their reports"), Role.VIEWER, Scope.READ),
    Operation("experiment.start", _("Start and cancel experiments, and measure more"), Role.OPERATOR, Scope.APPLY),
    Operation("experiment.apply", _("Apply what an experiment advises"), Role.OPERATOR, Scope.APPLY),
    Operation("schedule.view", _("See schedules and what became of their times"), Role.VIEWER, Scope.READ),
    Operation("schedule.change", _("Add, change, pause, start and remove schedules"), Role.OPERATOR, Scope.APPLY),
    Operation("schedule.consent", _("Agree to schedules that load a protected cluster"), Role.OWNER, Scope.ADMIN),
    Operation("playbook.view", _("See playbooks"), Role.VIEWER, Scope.READ),
    Operation("playbook.change", _("Add and remove playbooks"), Role.OPERATOR, Scope.RUN),
    Operation("script.view", _("See scripts"), Role.VIEWER, Scope.READ),
    Operation("script.change", _("Add, change, try and remove scripts"), Role.DEVELOPER, Scope.RUN),
    Operation("profile.view", _("See settings profiles"), Role.VIEWER, Scope.READ),
    Operation("profile.change", _("Add, change and remove settings profiles"), Role.OPERATOR, Scope.RUN),
    Operation("external.view", _("See external endpoints"), Role.VIEWER, Scope.READ),
    Operation("external.change", _("Add, change and remove external endpoints"), Role.OWNER, Scope.ADMIN),
    Operation("engine.view", _("See the load programs"), Audience.USERS, Scope.READ, limits=OF_POOL),
    Operation("generator.view", _("See generators"), Audience.USERS, Scope.READ, limits=OF_POOL),
    Operation("generator.change", _("Add and forget generators"), Audience.ADMINS, Scope.ADMIN),
    Operation("ceiling.view", _("See the run limits"), Audience.USERS, Scope.READ),
    Operation("ceiling.change", _("Set the run limits"), Audience.ADMINS, Scope.ADMIN),
)
