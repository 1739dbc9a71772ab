"""Host-based authentication as PgBouncer's src/hba.c reads it: it skips a line it can't read, the panel refuses it."""

import re
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import takewhile

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.poolers.settings_schema import Version

TOKEN = re.compile(
    r'\s*(?:(?P<end>#|$)|(?P<comma>,)|"(?P<quoted>(?:[^"]|"")*)"|(?P<word>[^\s,#"][^\s,#"]*))', re.DOTALL
)
IPV6_BITS = 128
COMMA, QUOTE, MAP = ",", '"', "map="
TYPES = ("local", "host", "hostssl", "hostnossl")
METHODS = ("trust", "reject", "md5", "password", "peer", "cert", "scram-sha-256")
NOT_READ = ("samerole", "samegroup")
LDAP_SINCE: Version = (1, 25)
MAPS_SINCE = ALL_ADDRESSES_SINCE = REPLICATION_SINCE = (1, 23)
Fields = list[list[str]]  # one list of names a field; a quoted name keeps its opening quote


class Unreadable(Exception):
    """A line that PgBouncer would skip; the message is the reason."""


def rules_fault(text: str, version: Version) -> str:
    """Return the faults of the lines of an HBA file with their numbers; empty when this release reads them all."""
    faults = list(faults_by_line(text, version))
    if not faults and not any(map(_fields, text.splitlines())):
        return _("it has no rule, so every client would be refused: give at least one line")
    return "; ".join(
        _("line %(number)s: %(message)s") % {"number": number, "message": message} for number, message in faults
    )


def faults_by_line(text: str, version: Version) -> Iterator[tuple[int, str]]:
    """Yield (line number, message) of each rule that can't be read, or that no client could ever match."""
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            _check_rule(_fields(line), version)
        except Unreadable as fault:
            yield number, str(fault)


def maps_fault(text: str, _version: Version) -> str:
    """Return the faults of a map of user names: map, name of the system, name in the database."""
    faults = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split()
        if words and len(words) != 3:
            text = ngettext(
                "line %(number)s: %(count)s word where map, system name and user name stand",
                "line %(number)s: %(count)s words where map, system name and user name stand",
                len(words),
            )
            faults.append(text % {"number": number, "count": len(words)})
        elif any(word.startswith(("+", "/")) for word in words):
            faults.append(
                _("line %(number)s: groups (+) and regular expressions (/) are not read: write the name")
                % {"number": number}
            )
    return "; ".join(faults)


def lost_maps_fault(rules: str, maps: str) -> str:
    """Return sentences on each `map=` of an HBA file that a file of maps lacks; empty for none. Both are valid."""
    known = {words[0] for line in maps.splitlines() if (words := line.split("#")[0].split())}
    named = (
        (number, option.removeprefix(MAP))
        for number, line in enumerate(rules.splitlines(), start=1)
        for field in _fields(line)[4:]  # options stand behind the method
        for option in field
        if option.startswith(MAP)
    )
    return "; ".join(
        _("line %(number)s names map=%(name)s, which auth_ident_file lacks: add it there, or remove the option")
        % {"number": number, "name": name}
        for number, name in named
        if name not in known
    )


def first_fields(line: str, most: int = 3) -> tuple[Fields, str]:
    """Split off type, databases and users (`most` fields), and return them with the rest of the line as it stands."""
    fields: Fields = []
    position, joined = 0, False
    while (found := TOKEN.match(line, position)) and found["end"] is None:
        if not found["comma"] and not joined:
            if len(fields) == most:
                break
            fields.append([])
        if found["comma"]:
            if not fields:
                return [], line
            joined = True
        else:
            fields[-1].append(found["word"] or QUOTE + (found["quoted"] or "").replace('""', '"'))
            joined = False
        position = found.end()
    return fields, line[position:]


def is_read(name: str) -> bool:
    """Return whether PgBouncer reads a name of a rule; one that it does not makes it pass over the whole line."""
    return not name.startswith("+") and name not in NOT_READ


def _fields(line: str) -> Fields:
    """Split a line into fields, names joined by commas in one field."""
    fields: Fields = []
    joined = False
    for token in takewhile(lambda token: token is not None, _tokens(line)):
        if token == COMMA:
            joined = True
        elif joined and fields:
            fields[-1].append(str(token))
            joined = False
        else:
            fields.append([str(token)])
    if joined:
        raise Unreadable(_("it ends with a comma: remove it, or write the name that follows it"))
    return fields


def _tokens(line: str) -> Iterator[str | None]:
    position = 0
    while True:
        found = TOKEN.match(line, position)
        if not found:
            raise Unreadable(_("a quote is not closed: double quotes come in pairs"))
        position = found.end()
        if found["end"] is not None:
            yield None
        elif found["comma"]:
            yield COMMA
        else:
            yield found["word"] or QUOTE + (found["quoted"] or "").replace('""', '"')


def _check_rule(fields: Fields, version: Version) -> None:
    if not fields:
        return
    kind = fields[0][0]
    if kind not in TYPES:
        raise Unreadable(
            _("%(value)s is not a connection type: enter one of %(types)s")
            % {"value": _quoted(kind), "types": ", ".join(TYPES)}
        )
    if len(fields) < (4 if kind == "local" else 5):
        if kind == "local":
            missing = _("it has %(count)d fields, and needs type, database, user and method")
        else:
            missing = _("it has %(count)d fields, and needs type, database, user, address and method")
        raise Unreadable(missing % {"count": len(fields)})
    for names in fields[1:3]:
        _check_names(names, version)
    fields_after = fields[3:] if kind == "local" else _after_address(fields[3:], version)
    _check_method(fields_after, version)


def _check_names(names: list[str], version: Version) -> None:
    for name in names:
        if name.startswith("+"):
            raise Unreadable(
                _("%(name)s: members of a role are not known to PgBouncer: write their names") % {"name": name}
            )
        if name.startswith("@"):
            raise Unreadable(
                _("%(name)s: a file of names can't be checked from here: write the names") % {"name": name}
            )
        if name in NOT_READ or (name == "replication" and version < REPLICATION_SINCE):
            raise Unreadable(_("%(name)s is not read by this PgBouncer: write the names") % {"name": name})


def _after_address(fields: Fields, version: Version) -> Fields:
    """Return the fields after the address, and after a mask of its own."""
    address = fields[0][0]
    if address == "all" and version >= ALL_ADDRESSES_SINCE:
        return fields[1:]
    if "/" in address:
        _check_network(address)
        return fields[1:]
    try:
        ip_address(address)
    except ValueError:
        raise Unreadable(
            _("%(value)s is not an address: enter numbers such as 10.0.0.0/8 or ::1/128") % {"value": _quoted(address)}
        ) from None
    _check_network(f"{address}/{_prefix_length(address, fields[1][0])}")
    return fields[2:]


def _prefix_length(address: str, mask: str) -> str:
    """Return the number of bits of an IPv6 address's mask, which `ip_network` does not take; others as they are."""
    if ":" not in address:
        return mask
    try:
        bits = int(IPv6Address(mask))
    except ValueError:
        return mask
    length = bits.bit_count()
    return str(length) if bits == (1 << IPV6_BITS) - (1 << IPV6_BITS - length) else mask


def _check_network(network: str) -> None:
    try:
        ip_network(network)
    except ValueError as error:
        if "host bits" in str(error):
            fitting = ip_network(network, strict=False)
            raise Unreadable(
                _("%(network)s reaches beyond its mask, so no client would match: write %(fitting)s")
                % {"network": network, "fitting": fitting}
            ) from None
        raise Unreadable(
            _("%(network)s is not an address with a mask: enter numbers such as 10.0.0.0/8") % {"network": network}
        ) from None


def _check_method(fields: Fields, version: Version) -> None:
    if not fields:
        raise Unreadable(_("the method is missing: it is the last word"))
    method, options = fields[0][0], [option for field in fields[1:] for option in field]
    methods = (*METHODS, "ldap") if version >= LDAP_SINCE else METHODS
    if method not in methods:
        raise Unreadable(
            _("%(value)s is not a method of this PgBouncer: enter one of %(methods)s")
            % {"value": _quoted(method), "methods": ", ".join(methods)}
        )
    maps = method in ("cert", "peer") and version >= MAPS_SINCE
    for option in options:
        if method != "ldap" and not (maps and option.startswith(MAP)):
            raise Unreadable(
                _("%(value)s after %(method)s is not read: take it away") % {"value": _quoted(option), "method": method}
            )


def _quoted(token: str) -> str:
    return repr(token.removeprefix(QUOTE))
