"""Commands about pools: what there are, and how an application connects to one."""

import click

from .client import Api, Login, only, pool_named
from .output import as_json, print_json, print_table


@click.command()
@click.option("--cluster", default="", help="Only the pools of this cluster (name).")
@as_json
def pools(cluster: str, as_json: bool) -> None:
    """List the pools with database, user, mode, size and state."""
    api = Api(Login.read())
    query = {"cluster": only("cluster", cluster, api.listed("clusters/"))["id"]} if cluster else {}
    found = list(api.listed("pools/", **query))
    if as_json:
        return print_json(found)
    columns = ("name", "database", "user", "mode", "size", "state")
    print_table([one.upper() for one in columns], [[one[key] for key in columns] for one in found])


@click.command()
@click.argument("pool")
@click.option("--as", "kind", default="uri", show_default=True, help="uri, env, psql, jdbc, django, go, node …")
@click.option("--reveal", is_flag=True, help="With the password; the token needs the scope for it.")
def uri(pool: str, kind: str, reveal: bool) -> None:
    """Print the connection URI of POOL (name or id)."""
    api = Api(Login.read())
    path = f"pools/{pool_named(api, pool)['id']}/connection/"
    click.echo(api.get(path, **{"as": kind, "reveal": "1" if reveal else ""})["text"])
