"""Reports of runs for a CI: JUnit's XML, which shows each run as a test, and Markdown for the summary of a job."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import click

from .gates import run_faults
from .output import figure
from .records import Arm, Comparison, Run

SUITE = "pooldeck"
RATIO_CASE = "ratio of the pair"


def write(
    runs: Sequence[Run], comparison: Comparison | None, ratio_faults: Sequence[str], *, junit: str, markdown: str
) -> None:
    """Write the reports that have a name; a file that can't be written ends the command with 2."""
    texts = {junit: as_junit(runs, ratio_faults, has_pair=comparison is not None)} if junit else {}
    texts |= {markdown: as_markdown(runs, comparison, ratio_faults)} if markdown else {}
    for name, text in texts.items():
        try:
            Path(name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.UsageError(f"{name} can't be written: {error.strerror}") from None


def as_junit(runs: Sequence[Run], ratio_faults: Sequence[str], *, has_pair: bool) -> str:
    """Return a suite with a case for each run, and one for the ratio of a pair.

    A missed limit is a failure, and so is a run that is not valid: Jenkins, GitLab and GitHub's actions show both.
    """
    faults = {f"run {one['number']} {one['target']['label']}": run_faults([one]) for one in runs}
    if has_pair:
        faults[RATIO_CASE] = list(ratio_faults)
    failed = sum(map(bool, faults.values()))
    suite = ET.Element("testsuite", name=SUITE, tests=str(len(faults)), failures=str(failed), errors="0", skipped="0")
    for name, found in faults.items():
        case = ET.SubElement(suite, "testcase", name=_written(name), classname=SUITE)
        if found:
            ET.SubElement(case, "failure", message=_written(found[0])).text = _written("\n".join(found))
    for case, one in zip(suite, runs, strict=False):
        ET.SubElement(case, "system-out").text = _written(_figures(one))
    root = ET.Element("testsuites", tests=str(len(faults)), failures=str(failed), errors="0")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _written(text: str) -> str:
    """Return a text without the control characters that XML can't have; an error message may hold any."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def _figures(run: Run) -> str:
    judged = [f"{one['metric']}: {figure(one['value'])}" for one in run["thresholds"] if one["metric"] != "tps"]
    return "\n".join([f"tps: {figure(run['summary']['tps'])}", *judged])


def as_markdown(runs: Sequence[Run], comparison: Comparison | None, ratio_faults: Sequence[str]) -> str:
    """Return the tables of the runs and of the comparison, and what keeps the gate closed."""
    faults = [*run_faults(runs), *ratio_faults]
    rows = [
        [one["number"], one["target"]["label"], one["status"], one["validity"] or "–", figure(one["summary"]["tps"])]
        for one in runs
    ]
    parts = ["## Pooldeck: " + ("failed" if faults else "passed")]
    parts += [_table(("Run", "Target", "Status", "Validity", "tps"), rows)]
    if comparison:
        heads = ("Arm", "Valid", comparison["metric"], "Ratio", "95 %", "Verdict")
        parts += [_table(heads, list(map(_arm_row, comparison["arms"]))), _escaped(comparison["conclusion"])]
    parts += ["### Gate failed", "\n".join(f"- {_escaped(fault)}" for fault in faults)] if faults else []
    return "\n\n".join(parts) + "\n"


def _arm_row(arm: Arm) -> list[object]:
    interval = "–".join(map(figure, arm["interval"] or ())) or "–"
    return [arm["label"], arm["n_valid"], figure(arm["median"]), figure(arm["ratio"]), interval, arm["verdict"] or "–"]


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_escaped(str(cell)) for cell in line) + " |" for line in lines)


def _escaped(text: str) -> str:
    """Return a text that stays in its cell and makes no markup: names come from the operator's servers."""
    for sign in "\\`*_<>[]|#":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
