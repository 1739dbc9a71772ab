"""Texts, names and comments are spelled as in the manuals of PostgreSQL, PgBouncer and Prometheus: the American way."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READ = {".css", ".html", ".js", ".md", ".py", ".sh", ".toml", ".txt", ".yml"}
# `cancel…` is not among them: `cancelled` is a state of runs and experiments in the API
STEMS = """
analyse artefact authoris behaviour catalogue centre colour customis defence emphasis(?=e) favour finalis generalis
grey harbour honour initialis judgement labelled(?!by) labelling licence maximis metre minimis modelled modelling
neighbour normalis optimis(?!m|t) organis prioritis programme(?!r|d) randomis realis(?!t|m) recognis serialis signalled
signalling spelt stabilis standardis summaris synchronis utilis visualis
"""
BRITISH = re.compile(rf"(?:{'|'.join(STEMS.split())})", re.IGNORECASE)
# words of others, and values that the API stores: each in its one file
FOREIGN = {
    "benchmarks/engines/jmeter/plans.py": "Summaris",  # `Summariser`, an element of a plan
    "benchmarks/engines/jmeter/command.py": "summaris",  # `summariser.name`, a property of JMeter
    "benchmarks/runs/setup/options.py": "catalogue",  # a value of the option idle_reads, which stays until 1.0
}


def sources() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    paths = (Path(name) for name in listed.split("\0") if name)
    kept = (path for path in paths if path.suffix in READ and "migrations" not in path.parts)
    return [path for path in kept if "captured" not in path.parts and (ROOT / path).is_file()]


def test_nothing_is_spelled_the_british_way() -> None:
    found = []
    for path in sources():
        if path == Path(__file__).relative_to(ROOT):
            continue
        text = (ROOT / path).read_text(errors="replace")
        if not BRITISH.search(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            words = {word for word in BRITISH.findall(line) if FOREIGN.get(str(path)) != word}
            found += [f"{path}:{number} {word}" for word in sorted(words)]
    assert found == []


def test_words_that_are_no_stems_of_british_ones_pass() -> None:
    passing = "aria-labelledby optimistic programmed programmer realistic emphasis analysis license"
    assert BRITISH.findall(passing) == []
    assert BRITISH.findall("a grey behaviour_of CATALOGUE misspelt") == ["grey", "behaviour", "CATALOGUE", "spelt"]
