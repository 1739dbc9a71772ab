"""Encryption towards clients and towards servers, with the files it takes."""

import ssl

from django.utils.translation import gettext_lazy as _

from pools.poolers import pem
from pools.poolers.pgbouncer.settings_catalog.shapes import LOCKED_OUT, SSLMODES, choice, file, of_group, text
from pools.poolers.settings_schema import Setting

CLIENT_FILES = ("client_tls_key_file", "client_tls_cert_file")
CLIENT_NEEDS = (
    *((mode, CLIENT_FILES) for mode in ("allow", "prefer", "require")),
    *((mode, (*CLIENT_FILES, "client_tls_ca_file")) for mode in ("verify-ca", "verify-full")),
)
CLIENT_REFUSED = (("verify-ca", LOCKED_OUT), ("verify-full", LOCKED_OUT))
SERVER_NEEDS = tuple((mode, ("server_tls_ca_file",)) for mode in ("verify-ca", "verify-full"))
CLIENT_MODE = _("disable ignores TLS, allow and prefer use it where a client offers it, require insists")
SERVER_MODE = _("prefer uses TLS where offered, require insists, verify-ca and verify-full check the certificate")
PROTOCOL = r"(all|secure|tlsv1\.[0-3])"
CIPHERS = r"[-+!@:,.=A-Za-z0-9_ ]+"
CIPHER_WORDS = ("default", "secure", "fast", "normal", "all")  # of libusual's own; the rest is OpenSSL's
NEWEST = "TLS_(AES_256_GCM_SHA384|CHACHA20_POLY1305_SHA256|AES_128_GCM_SHA256|AES_128_CCM_8_SHA256|AES_128_CCM_SHA256)"
CURVES = ("auto", "none", "prime256v1", "secp384r1", "secp521r1")
PROTOCOLS = _("secure (1.2 and 1.3), all, or tlsv1.0 to tlsv1.3 separated by commas")


def ciphers_fault(value: str, _release: object = None) -> str:
    """Why OpenSSL would refuse a list of ciphers, by the OpenSSL of this host."""
    if value.lower() in CIPHER_WORDS:
        return ""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(value)
    except ssl.SSLError:
        return _("%(value)r names no cipher that OpenSSL knows: use its words, such as HIGH:!aNULL") % {"value": value}
    return ""


def _ciphers(side: str) -> tuple[Setting, ...]:
    """Which ciphers; the default of before 1.21 was a list of PgBouncer's own."""
    name, line = f"{side}_tls_ciphers", _("In OpenSSL's terms, for TLS 1.2 and older; default is the system's choice")
    return (
        text(name, _("Ciphers"), "fast", line, pattern=CIPHERS, check=ciphers_fault, until=(1, 21)),
        text(name, _("Ciphers"), "default", line, pattern=CIPHERS, check=ciphers_fault, since=(1, 21)),
        text(
            f"{side}_tls13_ciphers",
            _("Ciphers of TLS 1.3"),
            "",
            _("Such as TLS_AES_256_GCM_SHA384, with colons between; empty: OpenSSL's choice"),
            pattern=rf"{NEWEST}(:{NEWEST})*",
            since=(1, 25),
        ),
    )


CLIENT = of_group(
    _("TLS to clients"),
    choice(
        "client_tls_sslmode", _("Mode"), SSLMODES, "disable", CLIENT_MODE, needs=CLIENT_NEEDS, refused=CLIENT_REFUSED
    ),
    file(
        "client_tls_cert_file",
        _("Certificate"),
        _("What clients see, in PEM: its own first, then those between it and the root"),
        check=pem.certificate_fault,
        key="client_tls_key_file",
        needs=(("", ("client_tls_key_file",)),),
    ),
    file(
        "client_tls_key_file",
        _("Private key"),
        _("Of that certificate, in PEM without a passphrase"),
        check=pem.key_fault,
    ),
    file(
        "client_tls_ca_file",
        _("Authorities"),
        _("Whose certificates of clients are trusted"),
        check=pem.certificate_fault,
    ),
    text("client_tls_protocols", _("Versions"), "secure", PROTOCOLS, pattern=rf"{PROTOCOL}(, *{PROTOCOL})*"),
    *_ciphers("client"),
    choice("client_tls_ecdhcurve", _("Curve"), CURVES, "auto", _("For the exchange of keys; auto is prime256v1")),
    choice("client_tls_dheparams", _("DHE"), ("auto", "legacy", "none"), "auto", _("auto is 2048 bit, legacy 1024")),
)
SERVER = of_group(
    _("TLS to servers"),
    choice("server_tls_sslmode", _("Mode"), SSLMODES, "disable", SERVER_MODE, needs=SERVER_NEEDS, until=(1, 20)),
    choice("server_tls_sslmode", _("Mode"), SSLMODES, "prefer", SERVER_MODE, needs=SERVER_NEEDS, since=(1, 20)),
    file(
        "server_tls_ca_file",
        _("Authorities"),
        _("Whose certificates of servers are trusted"),
        check=pem.certificate_fault,
    ),
    file(
        "server_tls_cert_file",
        _("Certificate"),
        _("What the pooler shows to servers, in PEM"),
        check=pem.certificate_fault,
        key="server_tls_key_file",
        needs=(("", ("server_tls_key_file",)),),
    ),
    file(
        "server_tls_key_file",
        _("Private key"),
        _("Of that certificate, in PEM without a passphrase"),
        check=pem.key_fault,
    ),
    text("server_tls_protocols", _("Versions"), "secure", PROTOCOLS, pattern=rf"{PROTOCOL}(, *{PROTOCOL})*"),
    *_ciphers("server"),
)
SETTINGS = CLIENT + SERVER
