"""The only team of an installation that has not made others: all of its users are members."""

from django.contrib.auth.models import User

from core.accounts.models import Membership, Role, Team


def join(instance: User, *, created: bool, raw: bool = False, **_kwargs: object) -> None:
    """Make a new user a viewer of the only team; where there are several, somebody decides about their teams.

    A receiver of `post_save`. Administrators join too, which counts once they are none. A user whose groups decide has
    `joins_first_team` set to False.
    """
    if not created or raw or not getattr(instance, "joins_first_team", True):
        return
    teams = list(Team.objects.values_list("pk", flat=True)[:2])
    if len(teams) == 1:
        Membership.objects.get_or_create(team_id=teams[0], user=instance, defaults={"role": Role.VIEWER})
