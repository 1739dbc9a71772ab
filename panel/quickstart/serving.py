"""From running servers to the ready line: migrations, web, admin, demo; then serving, or --once."""

from django.core.management import call_command
from django.db import DatabaseError

from benchmarks.runs.submission import dispatch
from core.installation import pausing
from panel import start
from panel.quickstart import admin, demo_experiment
from panel.quickstart.demo import Demo
from panel.quickstart.home import Home
from panel.quickstart.panel_programs import Beat, SecondGenerator, Web
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.progress import Steps
from panel.quickstart.services import DemoServers
from panel.quickstart.supervise import Supervisor

WAITS_S = 60


def migrate() -> None:
    """Migrate the metadata database; raises `ProgramFailed`."""
    try:
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise ProgramFailed(f"{error}\ncheck DATABASE_URL, and that its server runs") from error


class Serving:
    """The panel of one start."""

    def __init__(self, home: Home, supervisor: Supervisor, steps: Steps, web: Web) -> None:
        self.home, self.supervisor, self.steps = home, supervisor, steps
        self.web = web
        self.token = ""

    def start_all(self, servers: DemoServers) -> Demo:
        """Run every step up to the ready line; raises `ProgramFailed` with the reason of the step that failed."""
        self.steps.report("migrating the metadata database")
        migrate()
        if (installation := start.recognize_a_copy(self.home.path)).paused_at:
            self.steps.report(f"paused, as this may be a copy ({installation.paused_because}): resume it in the panel")
        self.supervisor.start(Beat(self.home.path))
        user, logins = admin.ensure(self.home)
        self.token = logins["token"]
        demo = Demo(self.home, servers, user)
        servers.wait_until_ready()
        dispatch.ask_generators()  # a worker that was ready before the migrations could not register
        self._show_demo(demo)
        self._wait_for_web()
        authority = {"ca": str(self.web.tls.authority)} if self.web.tls else {}
        self.home.write_quickstart({"url": self.web.url, **logins, **authority})
        self.steps.report(f"log in as {logins['username']}; password and API token: {self.home.quickstart_path}")
        print(f"Pooldeck is ready at {self.web.url}", flush=True)
        return demo

    def _show_demo(self, demo: Demo) -> None:
        self.steps.report("registering the demo")
        demo.register()
        if pausing.is_paused():
            return
        if remark := demo.wait_for_pool(self.supervisor):
            self.steps.report(remark)
        if demo.needs_dataset():
            self.steps.report("preparing the demo dataset")
            demo.prepare_dataset(self.supervisor)

    def _wait_for_web(self) -> None:
        condition = f"{self.web.url}/healthz/ready answers 200"
        self.supervisor.wait_for(condition, WAITS_S, self.web.is_ready, lambda: self.web.last_answer)

    def serve(self) -> int:
        """Serve until a signal ends it, restarting programs that die; nothing waits for the second generator."""
        self.supervisor.start(SecondGenerator(self.home.path))
        self.steps.report(f"serving until Ctrl-C; the logs are in {self.home.log_folder}")
        self.supervisor.watch(self.steps.report)
        return 0

    def experiment(self, demo: Demo) -> int:
        """Run the demo experiment and print its tables; return 0 only if every arm is valid."""
        if pausing.is_paused():
            raise ProgramFailed(str(pausing.PAUSED))
        api = demo_experiment.Api(self.web.url, self.token, self.web.client_context)
        measured = demo_experiment.experiment(api, demo.cluster_id(), self.supervisor, self.steps)
        print(f"\n{demo_experiment.report(measured)}\n", flush=True)
        return 0 if all(one.is_valid for one in measured) else 1
