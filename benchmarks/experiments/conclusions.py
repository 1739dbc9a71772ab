"""What an experiment shows, in words: reproduced, not reproduced, or not to be judged here, and why; pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.arms import Arm, Outcome, Verdict
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.experiments import sequential, undecided
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models.conditions import Idle
from core.lib.figures import percent_change, signed

FAILED_SHARE = 0.01  # share of a source's requests; a higher one means that its clients were refused
DECIDED = frozenset({Verdict.FASTER, Verdict.SLOWER, Verdict.NO_DIFFERENCE})
STILL_WAITS = 0.8  # A commit that keeps this share of its time without waiting for the disk waits for something else.
EXCLUDED = 0.1  # "costs nothing" and "gains nothing" need an interval that excludes so large a share


class Finding(StrEnum):
    """The replication of a published effect; the verdict itself where nothing was published."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NOT_JUDGED = "not to be judged here"


@dataclass(frozen=True)
class Claim:
    """A published effect, whether it was found again here, and the figures or the reason.

    `arms` are the keys of those whose verdicts it rests on, as the table shows them.
    """

    finding: Finding
    text: str
    arms: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The claim for the page: metric, direction and factor in one sentence."""
        return {
            Finding.REPRODUCED: _("Reproduced: %(text)s."),
            Finding.NOT_REPRODUCED: _("Not reproduced: %(text)s."),
            Finding.FASTER: _("Faster: %(text)s."),
            Finding.SLOWER: _("Slower: %(text)s."),
            Finding.NO_DIFFERENCE: _("No difference shown: %(text)s."),
            Finding.NOT_JUDGED: _("Inconclusive: %(text)s."),
        }[self.finding] % {"text": self.text}


def text_of(result: Result) -> str:
    """Return the conclusion as one text; empty before there is one."""
    return " ".join(sentences(result))


def sentences(result: Result) -> list[str]:
    """Return the conclusion in sentences: the claims of the source, then notes on the figures."""
    return [*(claim.sentence for claim in claims(result)), *notes(result)]


def claims(result: Result) -> list[Claim]:
    """Return each published effect with its verdict here; empty before anything is measured."""
    return list(JUDGES.get(result.spec.conclusion, _judge_arms)(result)) if _has_begun(result) else []


def notes(result: Result) -> list[str]:
    """Return sentences on the figures' limits, and on what happens next where they decide nothing yet.

    Nothing before anything is measured.
    """
    if not _has_begun(result):
        return []
    of_playbook = NOTES[result.spec.conclusion](result) if result.spec.conclusion in NOTES else ()
    return [*of_playbook, *undecided.next_steps(result)]


def _has_begun(result: Result) -> bool:
    return any(one.arm for one in result.arms)


def _judge_arms(result: Result) -> Iterator[Claim]:
    """Judge a user's playbook: each arm beside its baseline, the sign of the published change as the claim."""
    for one in result.arms:
        if one.baseline:
            yield _as_published(result, one)


def _as_published(result: Result, one: ArmResult) -> Claim:
    """Judge whether an arm differs from its baseline in the direction that was published."""
    base = result.baseline_of(one)
    metric = result.spec.metric
    figure, base_figure = one.spec.published_figure(metric), base.spec.published_figure(metric) if base else None
    if not figure or not base_figure:
        return Claim(_found(one), in_words(one), (one.spec.key,))
    verdict = Verdict.FASTER if figure > base_figure else Verdict.SLOWER
    published = percent_change(figure / base_figure)
    interval = one.figure.interval if one.figure else None
    if one.verdict == Verdict.NO_DIFFERENCE and interval and interval.low <= figure / base_figure <= interval.high:
        text = _("%(measured)s; published: %(published)s, which the interval does not exclude: more blocks narrow it")
        return Claim(Finding.NOT_JUDGED, text % {"measured": in_words(one), "published": published}, (one.spec.key,))
    return _judged(one, verdict, published, (figure / base_figure, figure / base_figure))


def _found(one: ArmResult) -> Finding:
    """Return the finding for an arm without a published figure, from its verdict."""
    if one.skipped or one.verdict is None:
        return Finding.NOT_JUDGED
    findings = {
        Verdict.FASTER: Finding.FASTER,
        Verdict.SLOWER: Finding.SLOWER,
        Verdict.NO_DIFFERENCE: Finding.NO_DIFFERENCE,
    }
    return findings.get(one.verdict, Finding.NOT_JUDGED)


def in_words(one: ArmResult) -> str:
    """Return an arm's figure beside its baseline's: `PgBouncer: ×2.10 (95 % interval ×1.90 to ×2.30), 3 of 3 runs`."""
    if one.skipped:
        return _("%(arm)s is not measured (%(reason)s)") % {"arm": one.spec.label, "reason": one.skipped}
    if one.arm is None:
        return _("%(arm)s has no run yet") % {"arm": one.spec.label}
    if one.arm.refusal:
        return _("%(arm)s: %(words)s") % {"arm": one.spec.label, "words": one.arm.refusal.words}
    figure = one.figure
    if figure is None or figure.ratio is None:
        return _("%(arm)s: %(words)s") % {"arm": one.spec.label, "words": _without_figures(one.arm)}
    values = {"arm": one.spec.label, "ratio": f"{figure.ratio:.2f}"}
    if figure.interval is None:
        return _("%(arm)s: ×%(ratio)s its baseline (%(why)s)") % (values | {"why": undecided.reason(one)})
    values |= {"low": f"{figure.interval.low:.2f}", "high": f"{figure.interval.high:.2f}"}
    return _("%(arm)s: ×%(ratio)s its baseline (95 %% interval ×%(low)s to ×%(high)s)") % values


def _without_figures(arm: Arm) -> str:
    """Return a sentence on the valid runs of an arm that has no figure to compare with its baseline's."""
    valid = undecided.valid_runs(arm)
    if arm.n_valid == len(arm.runs):
        return _("%(valid)s, but none of its baseline") % {"valid": valid}
    few = _("%(valid)s, but too few blocks have one of its baseline too")
    return few % {"valid": valid} if arm.n_valid >= ENOUGH_REPEATS else valid


def _judged(one: ArmResult, wanted: Verdict, published: str, ratios: tuple[float, float]) -> Claim:
    """Judge an arm whose published change has a sign; no difference shown by a wide interval is no refutation.

    Where none of the published ratios, from the least to the largest, lies in the interval, the claim says that only
    the direction is reproduced.
    """
    values = {"measured": in_words(one), "published": published}
    text = _("%(measured)s; published: %(published)s") % values
    arms = (one.spec.key,)
    if one.skipped or one.verdict in (None, Verdict.NOT_ENOUGH, Verdict.REFUSED):
        return Claim(Finding.NOT_JUDGED, text, arms)
    if one.verdict == Verdict.NO_DIFFERENCE and _may_hide(one, wanted):
        wide = _(
            "%(measured)s; published: %(published)s. The interval does not exclude a change of %(percent)s %% in that "
            "direction: more blocks narrow it"
        )
        return Claim(Finding.NOT_JUDGED, wide % {**values, "percent": f"{100 * EXCLUDED:.0f}"}, arms)
    if one.verdict != wanted:
        return Claim(Finding.NOT_REPRODUCED, text, arms)
    interval = one.figure.interval if one.figure else None
    if interval and not (interval.low <= ratios[1] and ratios[0] <= interval.high):
        text = _("%(measured)s; published: %(published)s: the direction is reproduced, the size is not") % values
    return Claim(Finding.REPRODUCED, text, arms)


def _may_hide(one: ArmResult, wanted: Verdict) -> bool:
    """Return whether the interval of an arm leaves room for a change in this direction."""
    interval = one.figure.interval if one.figure else None
    if interval is None:
        return True
    return interval.high > 1 + EXCLUDED if wanted == Verdict.FASTER else interval.low < 1 - EXCLUDED


def _burst(result: Result) -> Iterator[Claim]:
    """Judge the burst: beyond max_connections a pool carries what the server refuses; below it gains nothing."""
    for clients in sorted({int(one.spec.values["clients"]) for one in result.arms}):
        direct, pooled = (result.arm(clients=str(clients), endpoint=key) for key in ("direct", "pool97"))
        if direct is None or pooled is None or direct.arm is None or pooled.arm is None:
            continue
        if direct.arm.refusal:
            carried = {Outcome.SUCCEEDED: Finding.REPRODUCED, Outcome.REFUSED: Finding.NOT_REPRODUCED}
            finding = carried.get(pooled.arm.outcome, Finding.NOT_JUDGED)
            yield _of_repeats(finding, _refused_clients_sentence(direct.arm, pooled), direct, pooled)
        elif "outcome" in direct.spec.published:
            text = _("the server let %(clients)s clients in directly, so that its max_connections is not exceeded")
            yield Claim(Finding.NOT_JUDGED, text % {"clients": clients}, (direct.spec.key, pooled.spec.key))
        else:
            text = _("below the limit a pool gains nothing: %(measured)s; published: %(published)s %%")
            yield _no_gain(pooled, text % {"measured": in_words(pooled), "published": signed(-2)})


def _of_repeats(finding: Finding, text: str, base: ArmResult, one: ArmResult) -> Claim:
    """Return a claim about an arm beside a refused one; a single run of either proves nothing."""
    arms = (base.spec.key, one.spec.key)
    known = sequential.known_runs(*(arm.arm for arm in (base, one) if arm.arm))
    if finding == Finding.NOT_JUDGED or known >= ENOUGH_REPEATS:
        return Claim(finding, text, arms)
    few = _("%(claim)s (%(known)s of the %(needed)s runs that a verdict takes)")
    return Claim(Finding.NOT_JUDGED, few % {"claim": text, "known": known, "needed": ENOUGH_REPEATS}, arms)


def _refused_clients_sentence(direct: Arm, pooled: ArmResult) -> str:
    """Compare the clients that the server refused with the throughput of the pool for as many clients."""
    refused = direct.refusal.refusal_sentence if direct.refusal else ""
    values = {"direct": refused, "clients": pooled.spec.values["clients"]}
    if pooled.arm and pooled.arm.refusal:
        return _("%(direct)s; %(pooled)s") % (values | {"pooled": pooled.arm.refusal.refusal_sentence})
    if tps := pooled.value("tps"):
        text = _("%(direct)s; the pool carried %(clients)s clients at %(tps)s tps")
        return text % (values | {"tps": f"{tps:,.0f}"})
    return _("%(direct)s; no run of %(clients)s clients through the pool is valid") % values


def _no_gain(one: ArmResult, text: str) -> Claim:
    """Judge that an arm gains nothing; no difference shown by a wide interval is no proof of that."""
    arms = (one.spec.key,)
    if one.skipped or one.verdict in (None, Verdict.NOT_ENOUGH, Verdict.REFUSED):
        return Claim(Finding.NOT_JUDGED, text, arms)
    if one.verdict == Verdict.NO_DIFFERENCE and _may_hide(one, Verdict.FASTER):
        wide = _("%(claim)s. The interval does not exclude a gain of %(percent)s %%: more blocks narrow it")
        return Claim(Finding.NOT_JUDGED, wide % {"claim": text, "percent": f"{100 * EXCLUDED:.0f}"}, arms)
    return Claim(Finding.NOT_REPRODUCED if one.verdict == Verdict.FASTER else Finding.REPRODUCED, text, arms)


def _burst_notes(result: Result) -> Iterator[str]:
    yield _(
        "The published +33 % compares 73 clients with 145: by Little's law (tps × latency) half of the 150 direct "
        "clients were refused and never ran. Since pgbench 14 such a run ends without a figure: the refusal is its "
        "result."
    )
    for one in result.arms:
        busy = one.arm.at_work if one.arm else None
        if busy and one.arm and one.arm.n_valid:
            text = _("%(arm)s: %(busy)s of %(asked)s clients were at work on average.")
            yield text % {"arm": one.spec.label, "busy": f"{busy[0]:,.0f}", "asked": f"{busy[1]:,.0f}"}


def _idle_tax(result: Result) -> Iterator[Claim]:
    """Judge idle connections: they cost a direct load, and leave one through a pool as it was."""
    for one in result.arms:
        if not one.baseline:
            continue
        if one.spec.values["endpoint"] == "direct":
            yield _as_published(result, one)
        else:
            yield _unchanged(one)


def _unchanged(one: ArmResult) -> Claim:
    """Judge that an arm is like its baseline; no difference shown by a wide interval is no proof of that."""
    text = _("through the pool idle clients cost nothing: %(measured)s; published: 0 %%") % {"measured": in_words(one)}
    arms = (one.spec.key,)
    if one.verdict in (None, Verdict.NOT_ENOUGH, Verdict.REFUSED):
        return Claim(Finding.NOT_JUDGED, text, arms)
    if one.verdict == Verdict.NO_DIFFERENCE and _may_hide(one, Verdict.SLOWER):
        text = _(
            "through the pool no cost of idle clients is shown, but the interval is too wide to exclude one of "
            "%(percent)s %%: %(measured)s; published: 0 %%. More blocks narrow it"
        )
        return Claim(Finding.NOT_JUDGED, text % {"percent": f"{100 * EXCLUDED:.0f}", "measured": in_words(one)}, arms)
    return Claim(Finding.REPRODUCED if one.verdict == Verdict.NO_DIFFERENCE else Finding.NOT_REPRODUCED, text, arms)


def _idle_notes(result: Result) -> Iterator[str]:
    yield _(
        "Since PostgreSQL 14 taking a snapshot no longer costs in proportion to the connections; what is left of the "
        "tax is memory, which shows where memory is short, and the processor time of opening them."
    )
    if idle := _most_memory(result):
        text = ngettext(
            "%(count)s idle connection held %(memory)s MB of the server's memory: the page cache loses as much, and "
            "the load pays once its tables no longer fit.",
            "%(count)s idle connections held %(memory)s MB of the server's memory, %(each)s MB each: the page cache "
            "loses as much, and the load pays once its tables no longer fit.",
            idle["connections"],
        )
        megabytes = {
            "memory": f"{idle['memory_bytes'] / 1e6:,.0f}",
            "each": f"{idle['memory_bytes_each'] / 1e6:,.1f}",
        }
        yield text % ({"count": f"{idle['connections']:,}"} | megabytes)


def _most_memory(result: Result) -> Idle | None:
    """Return the note of the run whose idle connections held the most measured memory."""
    noted = (run.conditions["idle"] for run in result.runs if "idle" in run.conditions)
    measured = [idle for idle in noted if idle.get("memory") == "measured"]
    return max(measured, key=lambda idle: idle["memory_bytes"], default=None)


def _tuning_notes(result: Result) -> Iterator[str]:
    ends = {one.spec.values["settings"]: one.derived.get("end_ms") for one in result.arms}
    waits, does_not = ends.get("defaults"), ends.get("async")
    judged = any(one.verdict in DECIDED for one in result.arms if one.spec.values["settings"] == "async")
    if waits and does_not and judged:
        text = _(
            "A commit (END) took %(waits)s ms, and %(fast)s ms with synchronous_commit=off, published 7.6 and 0.15."
        )
        yield text % {"waits": f"{waits:.3f}", "fast": f"{does_not:.3f}"}
        if does_not > STILL_WAITS * waits:
            yield _("It waits for a processor or for locks here, hardly for the disk, which that setting spares.")
    yield _("synchronous_commit=off may lose the commits of the last moments at a crash: it is not a setting to copy.")


def _app_pool(result: Result) -> Iterator[Claim]:
    """Judge pooling inside the application: both a shared handle and a pool are faster than a connection per request.

    The size of the published gain is none: its baseline counts requests that failed fast.
    """
    for one in result.arms:
        base = result.baseline_of(one)
        if base is None or one.arm is None or base.arm is None:
            continue
        if base.arm.refusal:
            yield _beside_refused(base, one)
        else:
            yield _judged(one, Verdict.FASTER, _("faster"), (0.0, inf))


def _beside_refused(base: ArmResult, one: ArmResult) -> Claim:
    """Judge an arm whose baseline was refused: it answers, or is refused too where requests of its source failed."""
    failed, answered = (one.spec.published_figure(name) or 0 for name in ("failed", "transactions"))
    is_refused_there = failed > FAILED_SHARE * (failed + answered)
    refused = base.arm.refusal.refusal_sentence if base.arm and base.arm.refusal else ""
    rate = one.value("tps")
    values = {"base": base.spec.label, "refused": refused, "arm": one.spec.label, "rate": f"{rate or 0:,.0f}"}
    arms = (base.spec.key, one.spec.key)
    if one.arm and one.arm.refusal:
        text = _("%(base)s: %(refused)s; %(arm)s was refused as well") % values
        return _of_repeats(Finding.REPRODUCED if is_refused_there else Finding.NOT_REPRODUCED, text, base, one)
    if one.arm is None or not one.arm.n_valid or rate is None:
        text = _("%(base)s: %(refused)s; no run of %(arm)s is valid") % values
        return Claim(Finding.NOT_JUDGED, text, arms)
    text = _("%(base)s: %(refused)s; %(arm)s answered %(rate)s requests/s") % values
    return _of_repeats(Finding.NOT_REPRODUCED if is_refused_there else Finding.REPRODUCED, text, base, one)


def _app_notes(result: Result) -> Iterator[str]:
    failed = [one for one in result.arms if one.value("failed")]
    for one in failed:
        text = _("%(arm)s: %(count)s requests failed; only those answered are counted in the rate.")
        yield text % {"arm": one.spec.label, "count": f"{one.value('failed') or 0:,.0f}"}
    yield _(
        "The published rates of new and shared connections count requests that failed fast: they are not throughput."
    )


def _reconnect(result: Result) -> Iterator[Claim]:
    """Judge reconnecting clients: PgBouncer gains, Pgpool-II does not, but for a load from another host."""
    for one in result.arms:
        if one.baseline and one.spec.values["endpoint"] == "pgbouncer":
            yield _judged(one, Verdict.FASTER, _between(58, 62), (1.58, 1.62))
        elif one.baseline and one.spec.values["endpoint"] == "pgpool":
            text = _("Pgpool-II gains nothing: %(measured)s; published: %(published)s")
            yield _no_gain(one, text % {"measured": in_words(one), "published": _between(-5, -8)})
        elif one.baseline and one.spec.key in result.on_same_host:
            text = _("%(measured)s; published of a load from another host: %(published)s")
            values = {"measured": in_words(one), "published": _between(7, 12)}
            yield Claim(Finding.NOT_JUDGED, text % values, (one.spec.key,))
        elif one.baseline and one.spec.other_host and not one.skipped:
            yield _judged(one, Verdict.FASTER, _between(7, 12), (1.07, 1.12))


def _between(first: int, last: int) -> str:
    """Return changes that were published, in percent: `+58 to +62 %`."""
    return _("%(first)s to %(last)s %%") % {"first": signed(first), "last": signed(last)}


def _reconnect_notes(result: Result) -> Iterator[str]:
    for one in result.arms:
        connecting = one.value("average_connection_ms")
        if connecting is not None and one.arm and one.arm.n_valid:
            text = _("%(arm)s: a login takes %(ms)s ms on average.")
            yield text % {"arm": one.spec.label, "ms": f"{connecting:.1f}"}
    yield _(
        "A pooler saves the start of a server process at each login, not the proof of the password, which every client "
        "still gives it: what a login costs through a pooler depends on the password method."
    )


Judge = Callable[[Result], Iterable[Claim]]
JUDGES: dict[str, Judge] = {"burst": _burst, "idle-tax": _idle_tax, "app-pool": _app_pool, "reconnect": _reconnect}
NOTES: dict[str, Callable[[Result], Iterable[str]]] = {
    "burst": _burst_notes,
    "idle-tax": _idle_notes,
    "tuning": _tuning_notes,
    "app-pool": _app_notes,
    "reconnect": _reconnect_notes,
}
