"""Finds JMeter, its Java, and the plans of this host."""

import re
import shutil
import zipfile
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines.binaries import Program, ProgramMissing, on_path
from benchmarks.engines.jmeter.plans import MOST_BYTES
from benchmarks.engines.sentences import FileSentences

OLDEST = (5, 0)
JAR = Path("bin/ApacheJMeter.jar")
DRIVER = "org.apache.jmeter.NewDriver"
MISSING_FILE = FileSentences(
    gettext_lazy("generator %(generator)s has no %(file)s: put it there into the folder POOLDECK_JMETER_PLANS"),
    gettext_lazy(
        "generator %(generator)s has no %(file)s: use %(usable)s, or put it there into the folder POOLDECK_JMETER_PLANS"
    ),
)


def find() -> Program:
    """Return the JMeter of POOLDECK_JMETER, else of the PATH; its path is its home. Raises `ProgramMissing`."""
    java()
    home = _home()
    if not settings.JMETER_PLANS:
        raise ProgramMissing(_("JMeter runs plans of one folder: name it in POOLDECK_JMETER_PLANS"))
    found = Program(str(home), *_version(home / JAR))
    if found.version < OLDEST:
        raise ProgramMissing(
            _(
                "the JMeter in %(home)s is %(version)s, and Debian's 2.13 can't read its own plans: "
                "unpack a JMeter 5 and name its folder in POOLDECK_JMETER"
            )
            % {"home": home, "version": f"{found.version[0]}.{found.version[1]}"}
        )
    return found


def java() -> str:
    """Return the resolved path of Java: a sandbox holds none of the links that lead to it."""
    return str(Path(on_path("java", _("install the Debian package default-jre-headless"))).resolve())


def java_files() -> tuple[str, ...]:
    """Return the paths that this Java reads: its folder, its settings' folders (Debian's are in /etc), and /proc."""
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
        if settings.JMETER:
            text = _(
                "there is no %(jar)s in POOLDECK_JMETER=%(home)s: "
                "unpack a JMeter 5 and name its folder in POOLDECK_JMETER"
            )
        else:
            text = _("no jmeter on the PATH of this host: unpack a JMeter 5 and name its folder in POOLDECK_JMETER")
        raise ProgramMissing(text % {"jar": JAR, "home": home})
    return home


def _version(jar: Path) -> tuple[str, tuple[int, int]]:
    """Return the version in the jar's manifest: starting JMeter to ask takes seconds of a processor."""
    try:
        with zipfile.ZipFile(jar) as content:
            manifest = content.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ProgramMissing(
            _("%(jar)s can't be read (%(error)s): unpack JMeter again") % {"jar": jar, "error": error}
        ) from None
    found = re.search(
        r"^Implementation-Version: (?P<text>(?P<major>[0-9]+)\.(?P<minor>[0-9]+)\S*)", manifest, re.MULTILINE
    )
    if not found:
        raise ProgramMissing(_("%(jar)s has no version in its manifest: unpack a JMeter 5") % {"jar": jar})
    return f"JMeter {found['text']}", (int(found["major"]), int(found["minor"]))


def plan_names() -> list[str]:
    """Return the names of the plans in this host's folder."""
    return sorted(path.name for path in Path(settings.JMETER_PLANS).glob("*.jmx")) if settings.JMETER_PLANS else []


def plan_text(name: str) -> str:
    """Return a plan of this host, at most one character longer than may be run; raise ValueError for none."""
    if name not in plan_names():
        raise ValueError(
            _("there is no plan %(name)s in POOLDECK_JMETER_PLANS: use one of %(plans)s")
            % {"name": name, "plans": ", ".join(plan_names()) or "-"}
        )
    with (Path(settings.JMETER_PLANS) / name).open(encoding="utf-8", errors="strict") as file:
        return file.read(MOST_BYTES + 1)
