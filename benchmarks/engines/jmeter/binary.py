"""Which JMeter is run, and where its plans lie."""

import re
import shutil
import zipfile
from pathlib import Path

from django.conf import settings

from benchmarks.engines.binaries import Program, ProgramMissing, on_path
from benchmarks.engines.jmeter.plans import MOST_BYTES

OLDEST = (5, 0)
JAR = Path("bin/ApacheJMeter.jar")
DRIVER = "org.apache.jmeter.NewDriver"


def find() -> Program:
    """The JMeter of POOLDECK_JMETER, else of the PATH; its path is its home. Raises `ProgramMissing`."""
    java()
    home = _home()
    if not settings.JMETER_PLANS:
        raise ProgramMissing("JMeter runs plans out of one folder: name that in POOLDECK_JMETER_PLANS")
    found = Program(str(home), *_version(home / JAR))
    if found.version < OLDEST:
        raise ProgramMissing(
            f"the JMeter in {home} is {found.version[0]}.{found.version[1]}, and Debian's 2.13 can't read its own "
            "plans: unpack a JMeter 5 and name its folder in POOLDECK_JMETER"
        )
    return found


def java() -> str:
    """The Java that runs it, by its own path: a sandbox holds none of the links that lead there."""
    return str(Path(on_path("java", "install the Debian package default-jre-headless")).resolve())


def java_files() -> tuple[str, ...]:
    """What this Java reads: its own folder, that of its settings, which Debian keeps in /etc, and its own /proc."""
    home = Path(java()).parent.parent
    settings_folders = {str(path.resolve().parent) for path in (home / "lib").glob("*/*.cfg")}
    conf = {str(path.resolve().parent) for path in (home / "conf").rglob("*") if path.is_file()}
    return (
        str(home),
        "/proc",
        *sorted(folder for folder in settings_folders | conf if not folder.startswith(f"{home}/")),
    )


def _home() -> Path:
    if settings.JMETER:
        home = Path(settings.JMETER)
    else:
        home = Path(shutil.which("jmeter") or "/nowhere/bin/jmeter").resolve().parent.parent
    if not (home / JAR).is_file():
        where = (
            f"there is no {JAR} in POOLDECK_JMETER={home}" if settings.JMETER else "no jmeter on the PATH of this host"
        )
        raise ProgramMissing(f"{where}: unpack a JMeter 5 and name its folder in POOLDECK_JMETER")
    return home


def _version(jar: Path) -> tuple[str, tuple[int, int]]:
    """As the jar's manifest tells it: asking the program itself takes seconds of a processor."""
    try:
        with zipfile.ZipFile(jar) as content:
            manifest = content.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ProgramMissing(f"{jar} can't be read ({error}): unpack JMeter anew") from None
    found = re.search(
        r"^Implementation-Version: (?P<text>(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\S*)", manifest, re.MULTILINE
    )
    if not found:
        raise ProgramMissing(f"{jar} does not tell its version: unpack a JMeter 5")
    return f"JMeter {found['text']}", (int(found["major"]), int(found["minor"]))


def plan_names() -> list[str]:
    """The plans in the folder of this host."""
    return sorted(path.name for path in Path(settings.JMETER_PLANS).glob("*.jmx")) if settings.JMETER_PLANS else []


def plan_text(name: str) -> str:
    """A plan of this host's folder, at most one character more than may be run; raises ValueError where it is none."""
    if name not in plan_names():
        raise ValueError(
            f"there is no plan {name} in POOLDECK_JMETER_PLANS: use one of {', '.join(plan_names()) or '-'}"
        )
    with (Path(settings.JMETER_PLANS) / name).open(encoding="utf-8", errors="strict") as file:
        return file.read(MOST_BYTES + 1)
