"""Checks plans: only elements that query PostgreSQL or HTTP are allowed; pure.

A plan could start programs, load classes, and read and write files. So every element, class and function must be on a
list, and the panel sets where a plan connects to: JDBC to the run's own target, HTTP to literal hosts.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlunsplit

from django.utils.translation import gettext as _

MOST_BYTES = 1_000_000
STRUCTURE = frozenset({"jmeterTestPlan", "hashTree"})
VALUES = frozenset(
    {"stringProp", "boolProp", "intProp", "longProp", "floatProp", "doubleProp", "collectionProp", "elementProp"}
)
# other attributes would make JMeter's XML library create objects of any class
ATTRIBUTES = frozenset(
    {"version", "properties", "jmeter", "guiclass", "testclass", "testname", "enabled", "name", "elementType"}
)
ELEMENTS = frozenset(
    {
        *("TestPlan", "ThreadGroup", "SetupThreadGroup", "PostThreadGroup", "Arguments", "Argument", "HTTPArgument"),
        *("JDBCDataSource", "JDBCSampler", "JDBCPreProcessor", "JDBCPostProcessor"),
        *("HTTPSamplerProxy", "ConfigTestElement", "HeaderManager", "Header", "CookieManager", "CacheManager"),
        *("LoopController", "GenericController", "OnceOnlyController", "RandomController", "RandomOrderController"),
        *("InterleaveControl", "ThroughputController", "TransactionController", "RunTime"),
        *("ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer"),
        *("ConstantThroughputTimer", "PreciseThroughputTimer", "SyncTimer", "CounterConfig", "RandomVariableConfig"),
        *("ResponseAssertion", "DurationAssertion", "SizeAssertion", "RegexExtractor", "BoundaryExtractor"),
    }
)
LISTENERS = frozenset({"ResultCollector", "Summariser", "BackendListener", "objProp"})
FUNCTIONS = ("Random", "RandomString", "UUID", "counter", "threadNum", "time")
MUST_BE = {
    "dbUrl": "${__P(jdbc_url)}",
    "driver": "org.postgresql.Driver",
    "username": "${__P(user)}",
    "password": "${__P(password)}",
}
MUST_BE_EMPTY = frozenset(
    {
        *("TestPlan.user_define_classpath", "filename", "HTTPSampler.proxyHost", "HTTPSampler.ipSource"),
        *("connectionProperties", "HTTPSampler.embedded_url_re", "HTTPsampler.Files"),
        *("HTTPSampler.FILE_NAME", "HTTPSampler.FILE_FIELD"),
    }
)
MUST_BE_OFF = frozenset({"HTTPSampler.follow_redirects", "HTTPSampler.auto_redirects", "HTTPSampler.image_parser"})
_OWN_COOKIES = "org.apache.jmeter.protocol.http.control."
_WRITTEN_PLAINLY = re.compile(
    rf"""\$\{{(?:
        __(?:{"|".join(FUNCTIONS)})(?:\([\w\ '.,:/+-]*\))?
      | __P\([A-Za-z]\w*(?:,[\w\ .:/+-]*)?\)  # a property of JMeter's own has a dot in its name
      | (?!__)[A-Za-z_][\w.-]*
    )\}}""",
    re.VERBOSE | re.ASCII,
)
_PORT = re.compile(r"[0-9]{0,5}")
_HOST = re.compile(r"[A-Za-z0-9._:-]*")


class PlanRefused(ValueError):
    """A plan that does, or may do, more than is allowed; the message names the element."""


@dataclass(frozen=True)
class Plan:
    """A plan that may be run, and the HTTP addresses that it requests.

    `sums_up` is whether its transaction controllers write results of their own beside those of the requests they hold.
    """

    text: str
    urls: tuple[str, ...]
    sums_up: bool = False


def checked(text: str) -> Plan:
    """Return the parsed plan; raise `PlanRefused`."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise PlanRefused(
            _("the plan has more than %(most_bytes)s bytes: use a smaller one") % {"most_bytes": f"{MOST_BYTES:,}"}
        )
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise PlanRefused(_("the plan declares a document type or entities, which it does not need: leave them out"))
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 (entities are refused above, external ones are never fetched)
    except ElementTree.ParseError as error:
        raise PlanRefused(_("the plan is not XML (%(error)s): save it with JMeter") % {"error": error}) from None
    if root.tag != "jmeterTestPlan":
        raise PlanRefused(_("the file is a %(tag)s, no JMeter test plan: save it with JMeter") % {"tag": root.tag})
    urls = tuple(dict.fromkeys(url for element in root.iter() for url in _check(element)))
    return Plan(text, urls, _sums_up(root))


def _check(element: ElementTree.Element) -> Iterator[str]:
    """Raise for what is not allowed; yield the address of an HTTP request, or of a set of defaults."""
    tag = element.tag
    if tag in LISTENERS:
        raise PlanRefused(
            _("%(tag)s is a listener's, which writes files: remove the listeners from the plan") % {"tag": tag}
        )
    if tag not in STRUCTURE | VALUES | ELEMENTS:
        raise PlanRefused(
            _("element %(tag)s is not allowed: a plan may hold %(elements)s")
            % {"tag": tag, "elements": ", ".join(sorted(ELEMENTS))}
        )
    if unknown := sorted(set(element.attrib) - ATTRIBUTES):
        raise PlanRefused(
            _("attribute %(unknown)s of %(tag)s is not allowed: save the plan with JMeter")
            % {"unknown": unknown[0], "tag": tag}
        )
    for attribute in ("testclass", "elementType"):
        if (found := element.get(attribute)) and found not in ELEMENTS:
            raise PlanRefused(
                _("class %(found)s is not allowed: a plan may hold %(elements)s")
                % {"found": found, "elements": ", ".join(sorted(ELEMENTS))}
            )
    name, value = element.get("name", ""), (element.text or "").strip()
    if tag in VALUES:
        _check_value(name, value)
    settled = value if tag == "stringProp" and value == MUST_BE.get(name) else ""  # the run's own target
    for text in ("" if settled else value, element.tail, *element.attrib.values()):
        _check_functions(text or "")
    if tag in ("HTTPSamplerProxy", "ConfigTestElement"):
        yield from _address(element)


def _sums_up(root: ElementTree.Element) -> bool:
    """Test whether results hold requests beside the sums of their controllers; raise where only some do."""
    controllers = [one for one in root.iter("TransactionController") if one.get("enabled") != "false"]
    sums_up = {
        one.findtext("boolProp[@name='TransactionController.parent']", "").strip() == "true" for one in controllers
    }
    if len(sums_up) > 1:
        raise PlanRefused(
            _(
                "some transaction controllers generate a parent sample and some do not, so that requests would "
                "count twice: set it for all of them or for none"
            )
        )
    return sums_up == {False}


def _check_functions(text: str) -> None:
    """Raise unless every `${…}` is a variable or one of a few functions, written plainly.

    JMeter drops a backslash before any character of a function: it reads `${\\__groovy(1)}` as `${__groovy(1)}`.
    """
    if "password" in text and "${" in text:
        raise PlanRefused(_("the password may be used in the connection's own field only"))
    if "${" not in (unwritten := _WRITTEN_PLAINLY.sub("", text)) and ("$" not in text or "\\" not in text):
        return
    allowed = ", ".join(f"__{one}" for one in (*FUNCTIONS, "P"))
    found = re.search(r"\$\{.{0,60}", unwritten, re.DOTALL)
    function = found[0] if found else text.strip()[:60]
    raise PlanRefused(
        _("%(what)s is not allowed: use variables, and of functions %(allowed)s, with plain words and no backslash")
        % {"what": repr(function), "allowed": allowed}
    )


def _check_value(name: str, value: str) -> None:
    if name in MUST_BE and value != MUST_BE[name]:
        raise PlanRefused(
            _("%(name)s must be %(must_be)s, so that the run's own target is loaded")
            % {"name": name, "must_be": MUST_BE[name]}
        )
    if name in MUST_BE_EMPTY and value:
        raise PlanRefused(_("%(name)s must be empty, and is %(value)s") % {"name": name, "value": repr(value[:60])})
    if name == "CookieManager.implementation" and value and not value.startswith(_OWN_COOKIES):
        raise PlanRefused(
            _("%(name)s must be one of JMeter's own, and is %(value)s") % {"name": name, "value": repr(value[:60])}
        )
    if name in MUST_BE_OFF and value.lower() != "false":
        raise PlanRefused(_("%(name)s must be false: it would lead to other hosts") % {"name": name})


def _address(element: ElementTree.Element) -> Iterator[str]:
    """Yield the address of the requests, written out so that it can be checked."""
    properties = {one.get("name", ""): (one.text or "").strip() for one in element}
    host, port = properties.get("HTTPSampler.domain", ""), properties.get("HTTPSampler.port", "")
    protocol, path = properties.get("HTTPSampler.protocol", "") or "http", properties.get("HTTPSampler.path", "")
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or protocol.lower() not in ("http", "https"):
        raise PlanRefused(
            _("server %(host)s, port %(port)s and protocol %(protocol)s must be written out, as text")
            % {"host": repr(host), "port": repr(port), "protocol": repr(protocol)}
        )
    if path and not path.startswith("/"):
        raise PlanRefused(_("path %(path)s must begin with /") % {"path": repr(path[:60])})
    if path.startswith("//"):
        raise PlanRefused(_("path %(path)s must begin with one / only") % {"path": repr(path[:60])})
    if host:
        bracketed = f"[{host}]" if ":" in host else host
        yield urlunsplit((protocol.lower(), f"{bracketed}:{port}" if port else bracketed, "/", "", ""))
