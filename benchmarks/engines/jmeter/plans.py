"""Which plans may be run: those of elements that only ask PostgreSQL or HTTP; pure.

A plan can start programs, load classes and read and write files. So every element, every class and every function must
be on a list, and where a plan goes is left to the panel: JDBC by the run's own target, HTTP to literal hosts.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlunsplit

MOST_BYTES = 1_000_000
STRUCTURE = frozenset({"jmeterTestPlan", "hashTree"})
VALUES = frozenset(
    {"stringProp", "boolProp", "intProp", "longProp", "floatProp", "doubleProp", "collectionProp", "elementProp"}
)
# others would have JMeter's XML library make objects of any class
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
    """A plan that does, or may do, more than is allowed; the message names what."""


@dataclass(frozen=True)
class Plan:
    """A plan that may be run, and the HTTP addresses that it goes to.

    `sums_up` is whether its transaction controllers give results of their own beside those of what they hold.
    """

    text: str
    urls: tuple[str, ...]
    sums_up: bool = False


def checked(text: str) -> Plan:
    """The plan; raises `PlanRefused`."""
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise PlanRefused(f"the plan has more than {MOST_BYTES:,} bytes: use a smaller one")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise PlanRefused("the plan declares a document type or entities, which it does not need: leave them out")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 entities are refused above, external ones are never fetched
    except ElementTree.ParseError as error:
        raise PlanRefused(f"the plan is no XML ({error}): save it with JMeter") from None
    if root.tag != "jmeterTestPlan":
        raise PlanRefused(f"the file is a {root.tag}, no JMeter test plan: save it with JMeter")
    urls = tuple(dict.fromkeys(url for element in root.iter() for url in _check(element)))
    return Plan(text, urls, _sums_up(root))


def _check(element: ElementTree.Element) -> Iterator[str]:
    """Raise for what is not allowed; the address of an HTTP request or of the defaults of some."""
    tag = element.tag
    if tag in LISTENERS:
        raise PlanRefused(f"{tag} is a listener's, which writes files: remove the listeners from the plan")
    if tag not in STRUCTURE | VALUES | ELEMENTS:
        raise PlanRefused(f"element {tag} is not allowed: a plan may hold {', '.join(sorted(ELEMENTS))}")
    if unknown := sorted(set(element.attrib) - ATTRIBUTES):
        raise PlanRefused(f"attribute {unknown[0]} of {tag} is not allowed: save the plan with JMeter")
    for attribute in ("testclass", "elementType"):
        if (found := element.get(attribute)) and found not in ELEMENTS:
            raise PlanRefused(f"class {found} is not allowed: a plan may hold {', '.join(sorted(ELEMENTS))}")
    name, value = element.get("name", ""), (element.text or "").strip()
    if tag in VALUES:
        _check_value(name, value)
    settled = value if tag == "stringProp" and value == MUST_BE.get(name) else ""  # the run's own target
    for text in ("" if settled else value, element.tail, *element.attrib.values()):
        _check_functions(text or "")
    if tag in ("HTTPSamplerProxy", "ConfigTestElement"):
        yield from _address(element)


def _sums_up(root: ElementTree.Element) -> bool:
    """Whether requests stand in the results besides in the sum of their controller; raises where only some do."""
    controllers = [one for one in root.iter("TransactionController") if one.get("enabled") != "false"]
    held = {one.findtext("boolProp[@name='TransactionController.parent']", "").strip() == "true" for one in controllers}
    if len(held) > 1:
        raise PlanRefused(
            "some transaction controllers generate a parent sample and some do not, so that requests would count "
            "twice: set it for all of them or for none"
        )
    return held == {False}


def _check_functions(text: str) -> None:
    """Raise unless all that JMeter would put a value in for is a variable, or one of a few functions, written plainly.

    JMeter drops a backslash before any character of a function: `${\\__groovy(1)}` is `${__groovy(1)}` to it.
    """
    if "password" in text and "${" in text:
        raise PlanRefused("the password may stand in the connection's own field only")
    if "${" not in (rest := _WRITTEN_PLAINLY.sub("", text)) and ("$" not in text or "\\" not in text):
        return
    allowed = ", ".join(f"__{one}" for one in (*FUNCTIONS, "P"))
    found = re.search(r"\$\{.{0,60}", rest, re.DOTALL)
    what = found[0] if found else text.strip()[:60]
    raise PlanRefused(
        f"{what!r} is not allowed: use variables, and of functions {allowed}, with plain words and no backslash"
    )


def _check_value(name: str, value: str) -> None:
    if name in MUST_BE and value != MUST_BE[name]:
        raise PlanRefused(f"{name} must be {MUST_BE[name]}, so that the run's own target is loaded")
    if name in MUST_BE_EMPTY and value:
        raise PlanRefused(f"{name} must be empty, and is {value[:60]!r}")
    if name == "CookieManager.implementation" and value and not value.startswith(_OWN_COOKIES):
        raise PlanRefused(f"{name} must be one of JMeter's own, and is {value[:60]!r}")
    if name in MUST_BE_OFF and value.lower() != "false":
        raise PlanRefused(f"{name} must be false: it would lead to other hosts")


def _address(element: ElementTree.Element) -> Iterator[str]:
    """Where the requests go, written out so that it can be checked."""
    given = {one.get("name", ""): (one.text or "").strip() for one in element}
    host, port = given.get("HTTPSampler.domain", ""), given.get("HTTPSampler.port", "")
    protocol, path = given.get("HTTPSampler.protocol", "") or "http", given.get("HTTPSampler.path", "")
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or protocol.lower() not in ("http", "https"):
        raise PlanRefused(f"server {host!r}, port {port!r} and protocol {protocol!r} must be written out, as text")
    if path and not path.startswith("/"):
        raise PlanRefused(f"path {path[:60]!r} must begin with /")
    if path.startswith("//"):
        raise PlanRefused(f"path {path[:60]!r} must begin with one / only")
    if host:
        shown = f"[{host}]" if ":" in host else host
        yield urlunsplit((protocol.lower(), f"{shown}:{port}" if port else shown, "/", "", ""))
