"""Texts to copy into a provider's tools so that they work against this panel; every value is quoted for its syntax."""

import json
import shlex
from dataclasses import dataclass

TOKEN = "POOLDECK_TOKEN"  # noqa: S105 (the name of a variable)


@dataclass(frozen=True)
class Target:
    """The address of the panel without a slash at its end, and one of its clusters."""

    url: str
    cluster_id: str
    cluster_name: str
    database: str

    @property
    def is_encrypted(self) -> bool:
        """True if the panel is reached over HTTPS."""
        return self.url.startswith("https:")


def doctl(target: Target) -> str:
    """Return commands that list clusters, create a pool and read it; the token is no argument, which `ps` shows."""
    url, cluster, database = shlex.quote(target.url), target.cluster_id, shlex.quote(target.database)
    pool = f"doctl -u {url} databases pool"
    return "\n".join(
        (
            f'export DIGITALOCEAN_ACCESS_TOKEN="${TOKEN}"',
            f"doctl -u {url} databases list",
            f"{pool} create {cluster} app-pool --db {database} --size 5 --mode transaction",
            f"{pool} get {cluster} app-pool",
        )
    )


def terraform(target: Target) -> str:
    """Return a provider, a cluster by its name, and a user, a database and a pool on it."""
    return f"""\
terraform {{
  required_providers {{
    digitalocean = {{ source = "digitalocean/digitalocean" }}
  }}
}}

variable "pooldeck_token" {{ sensitive = true }}

provider "digitalocean" {{
  api_endpoint = {_hcl(target.url)}
  token        = var.pooldeck_token
}}

data "digitalocean_database_cluster" "main" {{
  name = {_hcl(target.cluster_name)}
}}

resource "digitalocean_database_user" "app" {{
  cluster_id = data.digitalocean_database_cluster.main.id
  name       = "app_user"
}}

resource "digitalocean_database_db" "app" {{
  cluster_id = data.digitalocean_database_cluster.main.id
  name       = "app_db"
}}

resource "digitalocean_database_connection_pool" "app" {{
  cluster_id = data.digitalocean_database_cluster.main.id
  name       = "app-pool"
  user       = digitalocean_database_user.app.name
  db_name    = digitalocean_database_db.app.name
  mode       = "transaction"
  size       = 5
}}"""


def pydo(target: Target) -> str:
    """Return a Python program that creates a pool; over plain HTTP each call must allow that."""
    allowed = "" if target.is_encrypted else ", enforce_https=False"
    pool = {"name": "app-pool", "db": target.database, "mode": "transaction", "size": 5}
    return f"""\
from os import environ
from pydo import Client

client = Client(environ["{TOKEN}"], endpoint={json.dumps(target.url)})
cluster = {json.dumps(target.cluster_id)}
pool = {json.dumps(pool)}
made = client.databases.add_connection_pool(cluster, pool{allowed})
print(made["pool"]["connection"]["uri"])"""


def ansible(target: Target) -> str:
    """Return a task of the collection digitalocean.cloud, which needs HTTPS, since pydo sends no token without it."""
    return f"""\
- name: A pool
  digitalocean.cloud.database_connection_pool:
    token: "{{{{ lookup('env', '{TOKEN}') }}}}"
    client_override_options:
      endpoint: {json.dumps(target.url)}
    cluster_id: {json.dumps(target.cluster_id)}
    name: app-pool
    db: {json.dumps(target.database)}
    user: app_user
    mode: transaction
    size: 5"""


def curl(target: Target) -> str:
    """Return a command that creates a pool; the token comes from standard input, since `ps` shows arguments."""
    pool = json.dumps({"name": "app-pool", "db": target.database, "mode": "transaction", "size": 5})
    address = shlex.quote(f"{target.url}/v2/databases/{target.cluster_id}/pools")
    return f"""\
printf 'header = "Authorization: Bearer %s"' "${TOKEN}" |
  curl --silent --config - --json {shlex.quote(pool)} {address}"""


def _hcl(text: str) -> str:
    """Quote a text for HCL, whose templates start with ${ and %{."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
