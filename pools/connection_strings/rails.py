"""Rails' config/database.yml (Rails guides, "Configuring a Database"; keys Rails doesn't know go to libpq)."""

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import tls
from pools.connection_strings.quoting import quoted


def render(endpoint: Endpoint) -> str:
    """Return `production:` and its keys in YAML."""
    values = {
        "host": endpoint.host,
        "database": endpoint.database,
        "username": endpoint.user,
        "password": endpoint.password or "",
    }
    lines = [f"  {name}: {safe_from_erb(quoted(value))}" for name, value in (values | tls(endpoint)).items() if value]
    return "\n".join(["production:", "  adapter: postgresql", lines[0], f"  port: {endpoint.port}", *lines[1:]])


def safe_from_erb(yaml: str) -> str:
    """Return the same YAML without `<%`: Rails runs the file through ERB first, which would run it as Ruby."""
    return yaml.replace("<%", r"\u003c%")
