"""What how-to-add.md promises of an extension: a toy of each is added to a copy of the code, and the panel has it."""

from tests.panel.code_copies import CodeCopy


def test_a_connection_string_is_one_file_and_one_line(copy: CodeCopy) -> None:
    package = copy.path / "pools/connection_strings"
    (package / "toy.py").write_text(
        "from pools.clusters.endpoints import Endpoint\n\n\n"
        "def render(endpoint: Endpoint) -> str:\n    return f'toy://{endpoint.address}/{endpoint.database}'\n"
    )
    # the line, and the import that it needs
    registry = package / "__init__.py"
    registry.write_text(registry.read_text().replace("    sqlalchemy,\n", "    sqlalchemy,\n    toy,\n"))
    copy.add(
        "pools/connection_strings/__init__.py",
        '    "django": Format(',
        '    "toy": Format("Toy", toy.render, FRAMEWORK),',
    )
    copy.check(
        """
from pools import connection_strings
from pools.api.pools import FORMAT
from pools.clusters.endpoints import Endpoint
from pools.connection_strings import box
endpoint = Endpoint("db", 5432, "app", "me")
assert connection_strings.render(endpoint, "toy", reveal=False) == "toy://db:5432/app"
assert "toy" in box.GROUPS["framework"] and box.LABELS["toy"] == "Toy"
assert "toy" in FORMAT.enum
""",
    )


ENGINE = '''
import re

from benchmarks.engines.base import Engine, Output, ParsedLine, Progress, ProgramTerms
from benchmarks.engines.binaries import Program
from benchmarks.engines.base import Field
from benchmarks.processes.command import Command

TERMS = ProgramTerms("toy")
LINE = re.compile(r"toy (\\d+) s: (\\d+) tps, (\\d+) misses")


class Toy(Engine):
    """Counts what it misses."""

    name = "toy"
    terms = TERMS
    imports_output = True

    def fields_for(self, purpose):
        return (Field("clients", "--clients", "Clients", "int", default=1, minimum=1, maximum=10),)

    def validate(self, raw, *, purpose):
        return {"clients": int(raw.get("clients") or 1)}

    def find(self):
        return Program("/bin/true", "toy 1.0", (1, 0))

    def build_command(self, options, *, purpose, binary, home, endpoint, application_name, version):
        return Command([binary], {}, {})

    def preview(self, options, endpoint):
        return "toy"

    def parse_line(self, text, options):
        return ParsedLine(sample=_sample(LINE.match(text))) if LINE.match(text) else ParsedLine()

    def read_output(self, stdout, stderr=""):
        samples = [_sample(found) for found in LINE.finditer(stdout + stderr)]
        summary = {"tps": 5.0, "transactions": 10, "latency_avg_ms": 1.0, "clients": 1} if samples else {}
        return Output(TERMS, summary=summary, progress=samples, recognized=len(samples), executions=bool(samples) + 0)

    def tables_of(self, options, *, purpose):
        return None


def _sample(found):
    values = {"misses": int(found[3])} if "misses" in Progress.__dataclass_fields__ else {}
    return Progress(float(found[1]), float(found[2]), None, None, **values)


ENGINE = Toy()
'''
IMPORTED = """
from benchmarks.engines import ENGINES
from benchmarks.results import import_output
from django.contrib.auth import get_user_model
from django.test import Client
author = get_user_model().objects.create_superuser("root", "", "secret")
client = Client(); client.force_login(author)
run = import_output.import_output("toy 1 s: 5 tps, 3 misses\\ntoy 2 s: 5 tps, 4 misses\\n", author=author)
assert run.engine == "toy", run.engine
"""


def _add_engine(copy: CodeCopy) -> None:
    folder = copy.path / "benchmarks/engines/toy"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "engine.py").write_text(ENGINE)
    registry = "benchmarks/engines/__init__.py"
    copy.add(registry, '    "jmeter",', '    "toy",')


def test_an_engine_is_one_folder_and_one_line(copy: CodeCopy, database: str) -> None:
    _add_engine(copy)
    copy.check(
        database
        + IMPORTED
        + """
page = client.get("/runs/new/?engine=toy")
assert page.status_code == 200 and "toy" in page.content.decode()
assert client.get(f"/runs/{run.pk}/").status_code == 200
described = client.get("/api/schema/?format=json").json()["components"]["schemas"]
assert described["ToyRunRequest"]["properties"]["engine"] == {"type": "string", "enum": ["toy"]}
assert described["AskedRun"]["discriminator"]["mapping"]["toy"] == "#/components/schemas/ToyRunRequest"
assert described["ToyOptions"]["properties"]["clients"]["maximum"] == 10
""",
    )


def test_a_sample_figure_is_a_line_a_migration_and_its_parser(copy: CodeCopy, database: str) -> None:
    _add_engine(copy)
    copy.add(
        "benchmarks/models/metrics.py",
        '    SampleMetric("latency_p50_ms"',
        '    SampleMetric("misses", "Misses", "", Merge.SUM, is_charted=True),',
    )
    # its type, where the model and the parsers have it
    model, progress = "benchmarks/models/samples.py", "benchmarks/engines/base.py"
    copy.add(model, "    latency_p50_ms = models", "    misses = models.PositiveBigIntegerField(null=True)")
    copy.add(progress, "    latency_p50_ms: float", "    misses: int | None = None")
    made = copy.run("manage.py", "makemigrations", "benchmarks", "-n", "toy")
    assert made.count("Add field misses to sample") == 1
    copy.check(
        database
        + IMPORTED
        + """
from benchmarks.analysis import chart_series
from benchmarks.engines.base import Progress
from benchmarks.runs.distributed.merge_samples import Merger
samples = client.get(f"/api/v1/runs/{run.pk}/samples/").json()
assert [one["misses"] for one in samples.get("results", samples)] == [3, 4], samples
exported = b"".join(client.get(f"/api/v1/runs/{run.pk}/export/?as=csv").streaming_content).decode()
assert "misses" in exported.splitlines()[0], exported
drawn = chart_series.course(run)["samples"]
assert drawn["rows"][1][drawn["columns"].index("misses")] == 4
merger = Merger("ab", 1.0)
for part, misses in (("a", 1), ("b", 2)):
    merger.add(part, Progress(1.0, 5.0, None, None, misses=misses))
assert next(merger.completed_intervals()).misses == 3
""",
    )


DELIVERY = '''
from contextlib import contextmanager

from pools.config_files.deliveries.base import FileDelivery


class ShelfDelivery(FileDelivery):
    """Keeps files in memory."""

    label = "a shelf keeps them"
    held = {}

    def place_of(self, pooler):
        return "shelf"

    @contextmanager
    def connected(self, pooler):
        yield None

    def read(self, pooler, folder, names):
        return {name: self.held.get((folder, name)) for name in names}

    def replace(self, pooler, folder, contents, of_new=None, before_retry=None):
        self.held.update({(folder, name): content for name, content in contents.items()})

    def refuse_unsafe(self, pooler, folder):
        return

    def file_at(self, pooler, path, *, follow=True):
        return None


DELIVERY = ShelfDelivery()
'''


def test_a_delivery_is_one_module_and_one_line(copy: CodeCopy, database: str) -> None:
    package = "pools/config_files/deliveries"
    (copy.path / package / "shelf.py").write_text(DELIVERY)
    copy.add(f"{package}/__init__.py", '    "pull",', '    "shelf",')
    copy.check(
        database
        + """
call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
from django.contrib.auth import get_user_model
from django.test import Client
from pools.config_files import folder_owner, pooler_files
from pools.models import Pooler
get_user_model().objects.create_superuser("root", "", "secret")
client = Client(); client.force_login(get_user_model().objects.get())
assert "a shelf keeps them" in client.get("/poolers/new/").content.decode()
asked = {"name": "edge", "kind": "pgbouncer", "host": "127.0.0.1", "port": 1, "admin_user": "pooldeck",
         "admin_password": "secret", "config_dir": "/etc/pb", "delivery": "shelf"}
answer = client.post("/api/v1/poolers/", asked, content_type="application/json")
assert answer.status_code == 201, answer.json()
pooler = Pooler.objects.get()
assert pooler.delivery == "shelf" and folder_owner.of(pooler).is_here
pooler_files.replace(pooler, {"pgbouncer.ini": b"[databases]"})
assert pooler_files.read(pooler, ["pgbouncer.ini"]) == {"pgbouncer.ini": b"[databases]"}
page = client.get(f"/poolers/{pooler.pk}/")
assert page.status_code == 200 and "<dd>a shelf keeps them</dd>" in page.content.decode()
asked = {"delivery": "drawer", "dry_run": True}
answer = client.post(f"/api/v1/poolers/{pooler.pk}/take-over/", asked, content_type="application/json")
assert answer.status_code == 400 and "delivery" in answer.json(), answer.json()
schemas = client.get("/api/schema/?format=json").json()["components"]["schemas"]
choices = [one["enum"] for one in schemas.values() if "pull" in one.get("enum", ())]
assert choices and all("shelf" in one for one in choices), choices
""",
    )


KIND = '''
from pools.errors import ApplyFailed
from pools.models import Mode
from pools.poolers.adoption import Adoption
from pools.poolers.base import Driver
from pools.poolers.console_sample import ConsoleSample, LiveTable
from pools.poolers.pool_queue import PoolQueue


class Toy(Driver):
    """The kind `toy`; see `pools.poolers.base.Driver`."""

    files = ()
    main_file = "toy.conf"
    service = program = "toy"
    immediate_shutdown = "SIGTERM"
    usual_mode = Mode.TRANSACTION
    catalog = ()
    manual = "https://toy.example/{0}.{1}/"
    words = ()
    columns = {}

    def version_of(self, text):
        return (1, 4)

    def problems(self, spec):
        yield "pooler", "a Toy is only watched: choose a pooler of another kind"

    def check(self, pooler):
        return "Toy 1.4"

    def sample(self, pooler):
        return ConsoleSample()

    def live_table(self, sample):
        return LiveTable("Pools", ("database",), 1, [])

    def queue(self, pooler, name):
        return PoolQueue(name, waiting=0)

    def show(self, pooler, word):
        return []

    def compare(self, pooler, texts):
        return {}

    def probe(self, pool, role, password):
        return

    def client_auth_note(self, pool, texts, notes):
        return ""

    def start_error(self, pooler, texts):
        return ""

    def adoption(self, settled, found):
        return Adoption()

    def open(self, pooler):
        raise ApplyFailed("a Toy is only watched")

    def masked(self, texts):
        return dict(texts)

    def ours(self, name, text):
        return ""


DRIVER = Toy()
'''


def test_a_kind_of_pooler_is_a_folder_a_template_and_one_line(copy: CodeCopy, database: str) -> None:
    driver, template = copy.path / "pools/poolers/toy", copy.path / "templates/pools/poolers/toy"
    driver.mkdir()
    (driver / "__init__.py").touch()
    (driver / "driver.py").write_text(KIND)
    template.mkdir()
    (template / "needs.html").write_text("<p>A toy needs nothing.</p>")
    copy.add("pools/models/poolers.py", '    HAPROXY = "haproxy"', '    TOY = "toy", "Toy"')
    copy.check(
        database
        + """
call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
from django.contrib.auth import get_user_model
from django.test import Client
from pools.models import Pooler
get_user_model().objects.create_superuser("root", "", "secret")
client = Client(); client.force_login(get_user_model().objects.get())
def page(address):
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.content.decode()
form = page("/poolers/new/?kind=toy")
assert '<option value="toy"' in form
asked = {"name": "edge", "kind": "toy", "host": "127.0.0.1", "port": 1, "admin_user": "me", "admin_password": "secret"}
answer = client.post("/api/v1/poolers/", asked, content_type="application/json")
assert answer.status_code == 201 and answer.json()["server_version"] == "Toy 1.4", answer.json()
pooler = Pooler.objects.get()
assert "A toy needs nothing." in page(f"/poolers/{pooler.pk}/edit/")
for address in ("", "console/", "take-over/"):
    page(f"/poolers/{pooler.pk}/{address}")
for address in ("/", "/poolers/", "/pools/new/", "/playbooks/new/"):
    page(address)
for address in ("settings/", "entries/"):
    page(f"/api/v1/poolers/{pooler.pk}/{address}")
schemas = client.get("/api/schema/?format=json").json()["components"]["schemas"]
assert "toy" in schemas["PoolerKindEnum"]["enum"], schemas["PoolerKindEnum"]
""",
    )
