"""Commands about pools: what there are, and how an application connects to one."""

from collections.abc import Iterator

import click

from .client import Api, Login, only, pool_named, team_named
from .output import as_json, print_json, print_table
from .records import Pool, Record


@click.command()
@click.option("--cluster", default="", help="Only the pools of this cluster (name).")
@click.option("--team", default="", help="Only the pools of this team (name or id).")
@as_json
def pools(cluster: str, team: str, as_json: bool) -> None:
    """List the pools with database, user, mode, size and state."""
    api = Api(Login.read())
    clusters: Iterator[Record] = api.listed("clusters/")
    query = {"cluster": only("cluster", cluster, clusters)["id"]} if cluster else {}
    query |= {"team": team_named(api, team)["id"]} if team else {}
    found: list[Pool] = list(api.listed("pools/", **query))
    if as_json:
        return print_json(found)
    rows = [[one["name"], one["database"], one["user"], one["mode"], one["size"], one["state"]] for one in found]
    print_table(("NAME", "DATABASE", "USER", "MODE", "SIZE", "STATE"), rows)


@click.command()
@click.argument("pool")
@click.option("--as", "kind", default="uri", show_default=True, help="uri, env, psql, jdbc, django, go, node …")
@click.option("--reveal", is_flag=True, help="With the password; the token needs the scope for it.")
def uri(pool: str, kind: str, reveal: bool) -> None:
    """Print the connection URI of POOL (name or id)."""
    api = Api(Login.read())
    path = f"pools/{pool_named(api, pool)['id']}/connection/"
    click.echo(api.get(path, **{"as": kind, "reveal": "1" if reveal else ""})["text"])
