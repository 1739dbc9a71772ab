"""Logging in: where a command takes the panel's URL and the token from, and how they are stored."""

import sys
from pathlib import Path

import click

from .client import Api, Login


@click.command()
@click.argument("url")
@click.option("--cacert", type=click.Path(exists=True, dir_okay=False), help="The certificate authority to trust.")
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input instead of asking for it.")
def login(url: str, cacert: str | None, token_stdin: bool) -> None:
    """Check an API token with the panel at URL, and store both for the other commands."""
    token = sys.stdin.readline().strip() if token_stdin else click.prompt("API token", hide_input=True)
    found = Login(url, token, str(Path(cacert).resolve()) if cacert else "")
    Api(found).get("clusters/", page_size=1)
    click.echo(f"Logged in to {url}; stored in {found.write()}.")
