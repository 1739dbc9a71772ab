"""The examples for proxies, as script/install writes them: each proxy takes its own, and tells the panel what it must.

Both are programs of Debian's; a test is skipped where its proxy is not installed.
"""

import json
import shutil
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from panel.quickstart.ports import free_port

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "debian"
NGINX = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/site;
}}
"""
# what listens elsewhere than the example, and asks nobody for a certificate
CADDY = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A folder with a certificate for localhost, named as the examples name it."""
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "fullchain.pem"]
    subprocess.run(["openssl", *words, *name, *files], check=True, capture_output=True)
    return tmp_path


@pytest.fixture
def panel() -> Iterator[int]:
    """The port of a server that answers with the headers it got."""

    class Echo(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({name.lower(): value for name, value in self.headers.items()}).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def example(name: str, folder: Path, panel: int) -> str:
    """The example with a name, a port and a certificate filled in."""
    text = (DEPLOY / name).read_text().replace("POOLDECK_PORT", str(panel))
    return text.replace("POOLDECK_HOST", "localhost").replace("/etc/ssl/pooldeck", str(folder))


def nginx(folder: Path, panel: int, port: int) -> list[str]:
    text = example("nginx.conf", folder, panel)
    for old, new in (("80;", f"{free_port()};"), ("443 ssl", f"{port} ssl")):
        text = text.replace(f"listen [::]:{old}", f"listen [::1]:{new}").replace(f"listen {old}", f"listen {new}")
    (folder / "site").write_text(text)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def caddy(folder: Path, panel: int, port: int) -> list[str]:
    """Take the line `tls` that the example has as a comment."""
    text = example("Caddyfile", folder, panel).replace("# A certificate of your own authority: tls", "tls")
    (folder / "Caddyfile").write_text(CADDY + text.replace("\nlocalhost {", f"\nlocalhost:{port} {{"))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


PROXIES = [
    pytest.param(made, id=made.__name__, marks=pytest.mark.skipif(not shutil.which(made.__name__), reason=why))
    for made, why in ((nginx, "nginx is not installed"), (caddy, "caddy is not installed"))
]


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_finds_no_fault_in_its_example(certificate: Path) -> None:
    done = subprocess.run([*nginx(certificate, 8000, free_port()), "-t"], capture_output=True, text=True, check=False)
    assert (done.returncode, "warn" in done.stderr) == (0, False), done.stderr


@pytest.mark.skipif(not shutil.which("caddy"), reason="caddy is not installed")
def test_caddy_finds_no_fault_in_its_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "Caddyfile"
    path.write_text(example("Caddyfile", tmp_path, 8000))
    words = ["caddy", "validate", "--adapter", "caddyfile", "--config", path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, '"level":"warn"' in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("proxy", PROXIES)
def test_the_panel_is_told_the_client_and_https_whatever_the_client_claims(
    certificate: Path, panel: int, proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(certificate))
    port = free_port()
    process = subprocess.Popen(proxy(certificate, panel, port), stderr=subprocess.PIPE, text=True)
    try:
        for path in ("/", "/first-admin/?token=one", "/invitation/?token=one", "/shared/one/"):
            security, told = asked(certificate, port, path, process)
            assert security == "max-age=31536000"
            assert (told["x-forwarded-for"], told["x-forwarded-proto"]) == ("127.0.0.1", "https")
            assert told["host"].split(":")[0] == "localhost"
    finally:
        process.terminate()
        process.communicate()


def asked(folder: Path, port: int, path: str, process: "subprocess.Popen[str]") -> tuple[str, dict[str, str]]:
    """Strict-Transport-Security of the answer, and the headers that came through, once the proxy listens."""
    claims = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    request = urllib.request.Request(f"https://localhost:{port}{path}", headers=claims)
    trust = ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
    deadline = time.monotonic() + 20
    while True:
        try:
            with urllib.request.urlopen(request, context=trust, timeout=5) as answer:
                return answer.headers["Strict-Transport-Security"], json.loads(answer.read())
        except urllib.error.URLError:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.1)
