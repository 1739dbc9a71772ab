"""Encryption towards clients and servers, and the rules of who may log in."""

from django.utils.translation import gettext_lazy as _

from pools.poolers import pem
from pools.poolers.pgpool.hba import rules_fault
from pools.poolers.pgpool.settings_catalog.shapes import file, flag, on_page, text

RULES = "pool_hba"  # The program has no such setting: these are further rules of its pool_hba.conf.

TLS = on_page(
    _("TLS"),
    "runtime-ssl",
    flag(
        "ssl",
        "0",
        _("Pgpool-II uses TLS with clients, and with servers that offer it (default {default})."),
        restart=True,
    ),
    file(
        "ssl_cert",
        _("Pgpool-II shows this certificate, in PEM, to clients."),
        check=pem.certificate_fault,
        key="ssl_key",
    ),
    file(
        "ssl_key",
        _("Pgpool-II uses this private key with ssl_cert; the PEM file must not have a passphrase."),
        check=pem.key_fault,
    ),
    file(
        "ssl_ca_cert",
        _("Pgpool-II trusts certificates of servers and clients that the authorities in this PEM file have signed."),
        check=pem.certificate_fault,
    ),
    file("ssl_crl_file", _("Pgpool-II refuses the revoked certificates of this list, in PEM.")),
    file("ssl_dh_params_file", _("Pgpool-II uses these Diffie-Hellman parameters, in PEM, in place of its own.")),
    text(
        "ssl_ciphers",
        "HIGH:MEDIUM:+3DES:!aNULL",
        _("Pgpool-II allows these ciphers up to TLS 1.2, in OpenSSL's notation (default {default})."),
        restart=True,
    ),
    text(
        "ssl_ecdh_curve",
        "prime256v1",
        _("Pgpool-II exchanges keys on this elliptic curve (default {default})."),
        restart=True,
    ),
    flag(
        "ssl_prefer_server_ciphers",
        "0",
        _("Pgpool-II prefers its own order of ciphers to the client's (default {default})."),
        restart=True,
    ),
)
LOGINS = on_page(
    _("Logins"),
    "auth-pool-hba-conf",
    file(
        RULES,
        _(
            "Pgpool-II reads these further rules of pool_hba.conf after those of the pools; each line names type, "
            "database, user, address and method."
        ),
        check=rules_fault,
        restart=False,
        keyword="pool_hba.conf",
        manual="auth-pool-hba-conf.html",
    ),
)
