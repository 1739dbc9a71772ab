"""Command line, properties and plan of one JMeter, from checked options.

The endpoint and the password are in a file of properties in the run's private home.
"""

import shlex
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

from benchmarks.engines.jmeter.binary import DRIVER, JAR, java, java_files
from benchmarks.engines.jmeter.options import LOAD, plan_to_start
from benchmarks.engines.jmeter.typed_options import JMeterOptions
from benchmarks.engines.load_output import LOG
from benchmarks.engines.process_environment import CONNECT_TIMEOUT_S, python_environment
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

PLAN, PROPERTIES, HOSTS = "plan.jmx", "target.properties", "hosts"
DEBIANS_DRIVER = Path("/usr/share/java/postgresql.jar")
# libpq's word → that of pgjdbc, which takes the same values; it has none for the others
IN_JDBC = {"channel_binding": "channelBinding", "gssencmode": "gssEncMode"}
_RESULTS = {  # The follower reads these columns.
    "jmeter.save.saveservice.output_format": "csv",
    "jmeter.save.saveservice.print_field_names": "true",
    "jmeter.save.saveservice.autoflush": "true",
    "jmeter.save.saveservice.timestamp_format": "ms",
    "jmeter.save.saveservice.thread_counts": "true",
    "jmeter.save.saveservice.response_message": "true",
    "jmeter.save.saveservice.assertion_results_failure_message": "true",
    "jmeter.save.saveservice.bytes": "true",
    "jmeter.save.saveservice.subresults": "false",
    "sampleresult.timestamp.start": "true",
    "jmeterengine.nongui.port": "0",  # JMeter opens no port on which others could stop or dump it.
    "summariser.name": "",
}


def build_command(
    options: JMeterOptions,
    *,
    purpose: str,
    binary: str,
    home: Path,
    endpoint: Endpoint,
    application_name: str,
    version: tuple[int, int],
) -> Command:
    """Build the command of the follower, which starts JMeter in a sandbox; check the plan once more.

    Raises `Refused` where the plan was changed into one that may not be run.
    """
    plan = plan_to_start(options["plan"])
    log = [] if options.get("percentiles") is False else [f"--log={LOG}"]
    requests_only = ["--requests"] if plan.sums_up else []
    follower = [sys.executable, "-m", "benchmarks.load_programs.jmeter_results", *log, *requests_only, "--"]
    argv = [*follower, *_java(options, binary, home), *_words(options)]
    files = {PLAN: plan.text, PROPERTIES: _properties(endpoint, application_name)}
    reads = (binary, str(DEBIANS_DRIVER), *java_files())
    return Command(argv, python_environment(home), files, confined=True, confined_at=len(follower), reads=reads)


def preview(options: JMeterOptions, endpoint: Endpoint, *, purpose: str = LOAD, binary: str = "jmeter") -> str:
    """Return JMeter's arguments quoted for a shell, without those that name the private home."""
    return shlex.join(["jmeter", *_words(options)])


def _java(options: JMeterOptions, jmeter: str, home: Path) -> list[str]:
    """Return the words that start JMeter in Java, which resolves names by the hosts file alone."""
    settled = {
        "java.awt.headless": "true",
        "jmeter.home": jmeter,
        "user.home": home,
        "jdk.net.hosts.file": home / HOSTS,
    }
    words = [f"-D{name}={value}" for name, value in settled.items()]
    return [java(), f"-Xmx{options['memory_mb']}m", *words, "-cp", str(Path(jmeter) / JAR), DRIVER]


def _words(options: JMeterOptions) -> list[str]:
    driver = [f"-Juser.classpath={DEBIANS_DRIVER}"] if DEBIANS_DRIVER.exists() else []
    properties = [f"-Jclients={options['clients']}", f"-Jduration={options['duration']}"]
    return ["-n", "-t", PLAN, "-l", "results.jtl", "-j", "jmeter.log", "-q", PROPERTIES, *driver, *properties]


def _properties(endpoint: Endpoint, application_name: str) -> str:
    """Return a file of Java properties: the target of JDBC plans, and the format of the results."""
    targets = {"sslmode": endpoint.sslmode, "sslrootcert": endpoint.sslrootcert}
    targets |= {IN_JDBC[name]: value for name, value in endpoint.parameters if name in IN_JDBC}
    # prepareThreshold=0: nothing is prepared, so that any pool mode works
    fixed = {"ApplicationName": application_name, "prepareThreshold": "0", "connectTimeout": str(CONNECT_TIMEOUT_S)}
    query = urlencode({name: value for name, value in targets.items() if value} | fixed, quote_via=quote)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    target = {
        "jdbc_url": f"jdbc:postgresql://{host}:{endpoint.port}/{quote(endpoint.database, safe='')}?{query}",
        "user": endpoint.user,
        "password": endpoint.password or "",
    }
    return "".join(f"{name}={_escaped(value)}\n" for name, value in (target | _RESULTS).items())


def _escaped(value: str) -> str:
    """Return a value as java.util.Properties reads it: all but ASCII letters and digits as `\\uXXXX`."""
    units = value.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code).isalnum() and code < 128 else f"\\u{code:04x}" for code in codes)
