"""The seam: a verb that a second person can be required for asks for one here, whoever calls it.

Pages, the API, /v2 and the command line all call the same verbs, so none of them can go round it. What a worker, a
schedule or a command on the panel's own host does is no person's request, and passes.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from core.audit import actors
from core.audit.models import ActorKind
from pools.approvals import requests
from pools.approvals.acts import HeldAct
from pools.approvals.arguments import Arguments
from pools.approvals.errors import HeldBack

P = ParamSpec("P")
Result = TypeVar("Result")
BY_THEMSELVES = (ActorKind.WORKER, ActorKind.SCHEDULE, ActorKind.COMMAND)


def held_back(
    act: HeldAct, also_same: Callable[..., Mapping[str, object]] | None = None
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Let a verb raise `HeldBack`, with nothing done, where a cluster that it touches requires a second person.

    Put it outermost: what is held back must not stand in the trail as done. `also_same` takes the same arguments as
    the verb and returns more of what must still be so when it is approved.
    """

    def decorate(verb: Callable[P, Result]) -> Callable[P, Result]:
        signature = inspect.signature(verb)
        requests.VERBS[act.verb] = requests.Verb(_with_state(act, also_same), verb)

        @wraps(verb)
        def asking(*words: P.args, **named: P.kwargs) -> Result:
            bound = signature.bind(*words, **named)
            bound.apply_defaults()
            hold(act, dict(bound.arguments))
            return verb(*words, **named)

        asking.held_as = act.verb  # type: ignore[attr-defined]  # for the test that no verb is forgotten
        return asking

    return decorate


def hold(act: HeldAct, given: Arguments) -> None:
    """Raise `HeldBack` where a person does this and the rules of a cluster that it touches ask for a second one."""
    if actors.current().who().kind in BY_THEMSELVES or requests.is_carrying_out():
        return
    if rules := next(iter(act.rules(given)), None):
        raise HeldBack(requests.ask(requests.VERBS[act.verb].act, given, rules.cluster))


def _with_state(act: HeldAct, also_same: Callable[..., Mapping[str, object]] | None) -> HeldAct:
    if also_same is None:
        return act

    def state(given: Arguments) -> Mapping[str, Any]:
        return {**act.state(given), **also_same(**given)}

    return replace(act, state=state)
