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
CLIENT_MODE = _(
    "PgBouncer handles TLS of clients this way (default {default}): disable ignores it, allow and prefer use it where "
    "a client asks for it, and require refuses clients without it."
)
SERVER_MODE = _(
    "PgBouncer uses TLS to servers this way (default {default}): disable does without, prefer uses it where the server "
    "offers it, require insists on it, and verify-ca and verify-full also verify the server's certificate."
)
PROTOCOL = r"(all|secure|tlsv1\.[0-3])"
CIPHERS = r"[-+!@:,.=A-Za-z0-9_ ]+"
CIPHER_WORDS = (
    "default",
    "secure",
    "fast",
    "normal",
    "all",
)  # libusual has these words of its own; the rest is OpenSSL's
NEWEST = "TLS_(AES_256_GCM_SHA384|CHACHA20_POLY1305_SHA256|AES_128_GCM_SHA256|AES_128_CCM_8_SHA256|AES_128_CCM_SHA256)"
CURVES = ("auto", "none", "prime256v1", "secp384r1", "secp521r1")
PROTOCOLS = _(
    "PgBouncer allows these versions of TLS (default {default}): secure means 1.2 and 1.3, all means any, and tlsv1.0 "
    "to tlsv1.3 are listed with commas."
)
OWN_CIPHERS_HELP = _(
    "PgBouncer allows these ciphers up to TLS 1.2, in OpenSSL's notation (default {default}); the words default, "
    "secure, normal and fast mean lists of PgBouncer's own."
)
CIPHERS_HELP = _(
    "PgBouncer allows these ciphers up to TLS 1.2, in OpenSSL's notation; the default is the word {default}, which "
    "means OpenSSL's own list."
)
CIPHERS_1_3_HELP = _(
    "PgBouncer allows these ciphers of TLS 1.3, separated by colons, such as TLS_AES_256_GCM_SHA384; an empty field "
    "means OpenSSL's own list."
)


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
    """Define the ciphers of `client` or `server`; their default before 1.21 was a list of PgBouncer's own."""
    name = f"{side}_tls_ciphers"
    return (
        text(name, "fast", OWN_CIPHERS_HELP, pattern=CIPHERS, check=ciphers_fault, until=(1, 21)),
        text(name, "default", CIPHERS_HELP, pattern=CIPHERS, check=ciphers_fault, since=(1, 21)),
        text(f"{side}_tls13_ciphers", "", CIPHERS_1_3_HELP, pattern=rf"{NEWEST}(:{NEWEST})*", since=(1, 25)),
    )


CLIENT = of_group(
    _("TLS to clients"),
    choice("client_tls_sslmode", SSLMODES, "disable", CLIENT_MODE, needs=CLIENT_NEEDS, refused=CLIENT_REFUSED),
    file(
        "client_tls_cert_file",
        _(
            "PgBouncer shows this certificate to clients; the PEM file starts with its own, followed by those between "
            "it and the root."
        ),
        check=pem.certificate_fault,
        key="client_tls_key_file",
        needs=(("", ("client_tls_key_file",)),),
    ),
    file(
        "client_tls_key_file",
        _("PgBouncer uses this private key with client_tls_cert_file; the PEM file must not have a passphrase."),
        check=pem.key_fault,
    ),
    file(
        "client_tls_ca_file",
        _("PgBouncer trusts certificates of clients that the authorities in this PEM file have signed."),
        check=pem.certificate_fault,
    ),
    text("client_tls_protocols", "secure", PROTOCOLS, pattern=rf"{PROTOCOL}(, *{PROTOCOL})*"),
    *_ciphers("client"),
    choice(
        "client_tls_ecdhcurve",
        CURVES,
        "auto",
        _("PgBouncer exchanges keys on this elliptic curve (default {default}); auto means prime256v1."),
    ),
    choice(
        "client_tls_dheparams",
        ("auto", "legacy", "none"),
        "auto",
        _(
            "PgBouncer uses Diffie-Hellman parameters of this kind (default {default}): auto has 2048 bits, legacy has "
            "1024, and none turns them off."
        ),
    ),
)
SERVER = of_group(
    _("TLS to servers"),
    choice("server_tls_sslmode", SSLMODES, "disable", SERVER_MODE, needs=SERVER_NEEDS, until=(1, 20)),
    choice("server_tls_sslmode", SSLMODES, "prefer", SERVER_MODE, needs=SERVER_NEEDS, since=(1, 20)),
    file(
        "server_tls_ca_file",
        _("PgBouncer trusts certificates of servers that the authorities in this PEM file have signed."),
        check=pem.certificate_fault,
    ),
    file(
        "server_tls_cert_file",
        _("PgBouncer shows this certificate, in PEM, to servers that ask for one."),
        check=pem.certificate_fault,
        key="server_tls_key_file",
        needs=(("", ("server_tls_key_file",)),),
    ),
    file(
        "server_tls_key_file",
        _("PgBouncer uses this private key with server_tls_cert_file; the PEM file must not have a passphrase."),
        check=pem.key_fault,
    ),
    text("server_tls_protocols", "secure", PROTOCOLS, pattern=rf"{PROTOCOL}(, *{PROTOCOL})*"),
    *_ciphers("server"),
)
SETTINGS = CLIENT + SERVER
