"""Rules of pool_hba.conf that a person gives: what Pgpool-II can't read of them is refused by its line."""

import re
from ipaddress import ip_address, ip_network

from django.utils.translation import gettext as _

from pools.poolers.settings_schema import Version

TYPES = ("local", "host", "hostssl", "hostnossl")
METHODS = ("trust", "reject", "md5", "scram-sha-256", "password", "cert", "pam", "ldap")
WORD = re.compile(r'(?:"[^"]*"|[^\s"])+')
NAMED_PLACES = ("all", "samehost", "samenet")


def rules_fault(text: str, _version: Version) -> str:
    """Return the faults of the lines with their numbers; empty when Pgpool-II reads them all."""
    lines = ((number, line.split("#")[0]) for number, line in enumerate(text.splitlines(), start=1))
    found = [(number, _fault(WORD.findall(line), line)) for number, line in lines if line.strip()]
    return "; ".join(
        _("line %(number)s: %(fault)s") % {"number": number, "fault": fault} for number, fault in found if fault
    ) or ("" if found else _("there is no rule in it: give at least one line, or take the file away"))


def _fault(words: list[str], line: str) -> str:
    if line.count('"') % 2:
        return _("a quote is not closed: double quotes come in pairs")
    if words[0] not in TYPES:
        return _("%(word)r is not a connection type: enter one of %(types)s") % {
            "word": words[0],
            "types": ", ".join(TYPES),
        }
    if len(words) < (4 if words[0] == "local" else 5):
        return _("type, database, user, address (but for local) and method are needed")
    if any(name.startswith(("+", "@")) or name == "samegroup" for field in words[1:3] for name in field.split(",")):
        return _("groups (+, samegroup) and files of names (@) are not read: write the names")
    at = 3 if words[0] == "local" else 4
    if at == 4 and (fault := _place_fault(words[3], words[4])):
        return fault
    at += at == 4 and _is_alone(words[3])
    method = words[at] if at < len(words) else ""
    return (
        ""
        if method in METHODS
        else _("%(method)r is not a method: enter one of %(methods)s")
        % {"method": method, "methods": ", ".join(METHODS)}
    )


def _is_alone(place: str) -> bool:
    """Return whether it is an address whose mask is the next word."""
    try:
        ip_address(place)
    except ValueError:
        return False
    return True


def _place_fault(place: str, mask: str) -> str:
    network = f"{place}/{mask}" if _is_alone(place) else place
    if place in NAMED_PLACES or ("/" not in network and not place[0].isdigit()):
        return ""  # a host's name
    try:
        ip_network(network)
    except ValueError as error:
        return _("%(network)s is not an address with a mask (%(error)s): enter one such as 10.0.0.0/8") % {
            "network": network,
            "error": error,
        }
    return ""
