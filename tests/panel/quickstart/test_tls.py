"""The private certificate authority of `script/up --https`."""

import socket
import ssl
import stat
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from panel.quickstart import tls


def served_to(files: tls.TlsFiles, context: ssl.SSLContext, name: str) -> str:
    """Serve one client with the certificate, and return the TLS version that the client ends up with."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(files.certificate, files.key)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            try:
                server_context.wrap_socket(accepted, server_side=True).close()
            except (OSError, ssl.SSLError):
                accepted.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), timeout=10) as plain,
                context.wrap_socket(plain, server_hostname=name) as secure,
            ):
                return secure.version() or ""
        finally:
            thread.join()


def test_a_client_that_trusts_the_authority_is_served(tmp_path: Path) -> None:
    files = tls.ensure(tmp_path / "tls")
    strict = files.client_context()
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in ("127.0.0.1", "localhost", "::1"):
        assert served_to(files, strict, name) == "TLSv1.3"


def test_other_names_and_other_clients_are_refused(tmp_path: Path) -> None:
    files = tls.ensure(tmp_path / "tls")
    with pytest.raises(ssl.SSLCertVerificationError):
        served_to(files, files.client_context(), "panel.example.org")
    with pytest.raises(ssl.SSLCertVerificationError):
        served_to(files, ssl.create_default_context(), "localhost")


def test_only_the_owner_reads_the_files_and_a_second_start_keeps_them(tmp_path: Path) -> None:
    tls.ensure(tmp_path / "tls")
    before = {path.name: path.read_text() for path in (tmp_path / "tls").iterdir()}
    assert set(before) == {"ca.pem", "ca.key", "server.pem", "server.key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "tls").iterdir()} == {0o600}
    tls.ensure(tmp_path / "tls")
    assert {path.name: path.read_text() for path in (tmp_path / "tls").iterdir()} == before


def test_an_expiring_certificate_is_renewed_by_the_same_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "LASTS", timedelta(days=20))
    files = tls.ensure(tmp_path / "tls")
    authority, certificate = files.authority.read_text(), files.certificate.read_text()
    monkeypatch.setattr(tls, "LASTS", timedelta(days=397))
    assert tls.ensure(tmp_path / "tls") == files
    assert (files.authority.read_text() == authority, files.certificate.read_text() == certificate) == (True, False)
    assert served_to(files, files.client_context(), "localhost")


def test_a_lost_authority_is_replaced_with_its_certificate(tmp_path: Path) -> None:
    files = tls.ensure(tmp_path / "tls")
    files.authority.unlink()
    assert served_to(tls.ensure(tmp_path / "tls"), files.client_context(), "localhost")
