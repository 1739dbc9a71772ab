"""Sign-on by the header of nginx, which asks for a password itself, before a real web process: nobody else is believed.

The proxy has a loopback address of its own, as the how-to asks for: other programs of this machine are strangers.
"""

import getpass
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from core.accounts.models import Membership, Team
from panel.quickstart.servers import RedisServer, free_port
from tests.live.panel_programs import TestWeb

pytestmark = pytest.mark.django_db(transaction=True)
PROXY = "127.0.0.2"
PASSWORD = "known-to-nginx-only"
WAIT_S = 60
NGINX = """
daemon off; pid {folder}/pid; error_log stderr; user {account};
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    map $remote_user $groups {{ ann ops; bob sales; root dba; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            auth_basic "the tests";
            auth_basic_user_file {folder}/passwords;
            proxy_bind {proxy};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Remote-User $remote_user;
            proxy_set_header X-Remote-Groups $groups;
            proxy_set_header Authorization "";
            proxy_pass http://127.0.0.1:{panel};
        }}
    }}
}}
"""
SETTINGS = {
    "POOLDECK_TRUSTED_PROXIES": PROXY,
    "POOLDECK_SIGN_ON_HEADER": "X-Remote-User",
    "POOLDECK_SIGN_ON_GROUPS_HEADER": "X-Remote-Groups",
    "POOLDECK_SIGN_ON_GROUPS": "dba=administrator; ops=Payments:operator",
}


@dataclass(frozen=True)
class Doors:
    """The two addresses of the panel: through nginx, and past it."""

    front: str
    back: str


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch, redis_server: RedisServer, tmp_path: Path) -> Iterator[Doors]:
    """A panel that believes nginx alone, and nginx."""
    Team.objects.create(name="Payments")
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    with TestWeb(tmp_path, redis_server.url) as web:
        port = free_port()
        config, passwords = tmp_path / "nginx.conf", tmp_path / "passwords"
        config.write_text(
            NGINX.format(folder=tmp_path, port=port, panel=web.port, proxy=PROXY, account=getpass.getuser())
        )
        passwords.write_text("".join(f"{name}:{{PLAIN}}{PASSWORD}\n" for name in ("ann", "bob", "root")))
        command = ["nginx", "-p", str(tmp_path), "-c", str(config), "-e", "stderr"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as nginx:
            front = f"http://127.0.0.1:{port}"
            try:
                _wait_for(front, nginx)
                yield Doors(front, web.url)
            finally:
                nginx.terminate()


def _wait_for(url: str, nginx: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        assert nginx.poll() is None, nginx.communicate()[1]
        try:
            requests.get(url, timeout=WAIT_S)
        except requests.ConnectionError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("nginx does not listen")


def browser(name: str = "", **headers: str) -> requests.Session:
    """A browser that tells nginx this name and the password, and sends these headers whoever it speaks to."""
    session = requests.Session()
    session.headers.update(headers)
    session.auth = (name, PASSWORD) if name else None
    return session


def asked(session: requests.Session, url: str) -> tuple[str, str]:
    """The path that one ends at, and the page there."""
    answer = session.get(url, timeout=WAIT_S)
    assert answer.status_code == 200, answer.text
    return answer.url.partition("?")[0].rsplit(":", 1)[1].partition("/")[2], answer.text


def post(session: requests.Session, url: str, page: str) -> requests.Response:
    """Send the empty form with the token of this page."""
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    return session.post(url, {"csrfmiddlewaretoken": token[1]}, timeout=WAIT_S, allow_redirects=False)


def roles(name: str) -> list[tuple[str, str]]:
    """A person's teams and roles."""
    return list(Membership.objects.filter(user__username=name).values_list("team__name", "role"))


def test_nginx_names_who_is_there_until_they_are_gone(doors: Doors) -> None:
    assert browser().get(doors.front, timeout=WAIT_S).status_code == 401
    ann = browser("ann")
    path, page = asked(ann, f"{doors.front}/account/")
    assert (path, roles("ann")) == ("account/", [("Payments", "operator")])
    assert post(ann, f"{doors.front}/logout/", page).status_code == 302
    path, page = asked(ann, f"{doors.front}/login/?password")
    assert (path, 'name="password"' in page) == ("login/", True)
    assert asked(ann, f"{doors.front}/account/")[0] == "account/"  # nginx signs them in again
    ann.auth = ("root", PASSWORD)
    path, page = asked(ann, f"{doors.front}/people/")
    assert (path, "ann" in page, roles("root")) == ("people/", True, [])  # an administrator, whose session this is now
    bob = browser("bob").get(f"{doors.front}/login/", timeout=WAIT_S)
    assert (bob.status_code, "You have no access yet" in bob.text) == (403, True)


@pytest.mark.parametrize(
    "claimed",
    [
        {"X-Remote-User": "root", "X-Remote-Groups": "dba"},
        {"X-Remote-User": "root", "X-Remote-Groups": "dba", "X-Forwarded-For": PROXY},
        {"X_Remote_User": "root", "X_Remote_Groups": "dba"},
        {"x-remote-user": "root", "X_REMOTE_USER": "root", "X-Remote-Groups": "dba", "Forwarded": f"for={PROXY}"},
    ],
    ids=["alone", "with the proxy's address", "with underscores", "twice"],
)
def test_a_header_from_elsewhere_and_a_stolen_session_count_for_nothing(doors: Doors, claimed: dict[str, str]) -> None:
    path, page = asked(browser(**claimed), f"{doors.back}/people/")
    assert (path, 'name="password"' in page) == ("login/", True)
    ann = browser("ann", **claimed)
    assert asked(ann, f"{doors.front}/account/")[0] == "account/"
    assert ann.get(f"{doors.front}/people/", timeout=WAIT_S).status_code == 403  # nginx set its own over it
    ann.auth = None
    path, page = asked(ann, f"{doors.back}/account/")
    assert (path, 'name="password"' in page) == ("login/", True)
