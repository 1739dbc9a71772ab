"""`DATABASES` of Django's settings (Django's settings reference; OPTIONS go to psycopg, so they are libpq's)."""

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import tls
from pools.connection_strings.quoting import quoted


def render(endpoint: Endpoint) -> str:
    """Return `DATABASES = {"default": {…}}` in Python."""
    settings = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": endpoint.database,
        "USER": endpoint.user,
        "PASSWORD": endpoint.password or "",
        "HOST": endpoint.host,
        "PORT": str(endpoint.port),
    }
    lines = [f'        "{name}": {quoted(value)},' for name, value in settings.items() if value]
    if options := ", ".join(f'"{name}": {quoted(value)}' for name, value in tls(endpoint).items()):
        lines.append(f'        "OPTIONS": {{{options}}},')
    return "\n".join(["DATABASES = {", '    "default": {', *lines, "    },", "}"])
