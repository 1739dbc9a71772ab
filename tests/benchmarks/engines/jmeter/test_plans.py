"""Which plans may be run, and which of the many ways out of one are closed."""

from pathlib import Path

import pytest

from benchmarks.engines.jmeter.plans import PlanRefused, checked

PLANS = Path(__file__).parent / "plans"
JDBC, HTTP = (PLANS / "jdbc.jmx").read_text(), (PLANS / "http.jmx").read_text()


def with_element(xml: str) -> str:
    """The HTTP plan with one more element in its thread group."""
    return HTTP.replace("<HTTPSamplerProxy", f"{xml}<hashTree/><HTTPSamplerProxy", 1)


def with_property(xml: str) -> str:
    """The HTTP plan with one more property of its request."""
    return HTTP.replace('<stringProp name="HTTPSampler.method">', f'{xml}<stringProp name="HTTPSampler.method">', 1)


def with_controllers(*parents: str) -> str:
    """The HTTP plan with transaction controllers of this kind in its thread group."""
    each = (
        f'<TransactionController testclass="TransactionController" enabled="{enabled}">'
        f'<boolProp name="TransactionController.parent">{parent}</boolProp></TransactionController>'
        for parent, _, enabled in (one.partition(" ") for one in parents)
    )
    return with_element("<hashTree/>".join(each))


def test_transaction_controllers_count_their_requests_or_themselves_but_not_both() -> None:
    assert not checked(HTTP).sums_up
    assert not checked(with_controllers("true true", "true true")).sums_up
    assert not checked(with_controllers("true true", "false false")).sums_up
    assert checked(with_controllers("false true", "false true")).sums_up
    with pytest.raises(PlanRefused, match="some transaction controllers generate a parent sample and some do not"):
        checked(with_controllers("true true", "false true"))


def test_plans_of_allowed_elements_may_be_run() -> None:
    assert checked(JDBC).urls == ()
    assert checked(HTTP).urls == ("http://shop.example:8080/",)
    assert checked(HTTP.replace("shop.example", "::1")).urls == ("http://[::1]:8080/",)


@pytest.mark.parametrize(
    "element",
    [
        '<SystemSampler guiclass="x" testclass="SystemSampler" testname="x"/>',
        '<BeanShellSampler testclass="BeanShellSampler"/>',
        '<JSR223Sampler testclass="JSR223Sampler"/>',
        '<JSR223PreProcessor testclass="JSR223PreProcessor"/>',
        '<JavaSampler testclass="JavaSampler"/>',
        '<CSVDataSet testclass="CSVDataSet"/>',
        '<IncludeController testclass="IncludeController"/>',
        '<IfController testclass="IfController"/>',
        '<ResultCollector testclass="ResultCollector"><stringProp name="filename">x</stringProp></ResultCollector>',
        '<BackendListener testclass="BackendListener"/>',
        '<ThreadGroup testclass="SystemSampler"/>',
        '<elementProp name="x" elementType="HTTPFileArgs"/>',
        "<objProp><name>x</name></objProp>",
        "<java.lang.ProcessBuilder/>",
        '<stringProp name="x" class="java.lang.ProcessBuilder">x</stringProp>',
        '<hashTree reference="../x"/>',
        '<FTPSampler testclass="FTPSampler"/>',
        '<KeystoreConfig testclass="KeystoreConfig"/>',
        '<DebugSampler testclass="DebugSampler"/>',
    ],
)
def test_elements_that_reach_further_are_refused(element: str) -> None:
    with pytest.raises(PlanRefused, match=r"is not allowed|writes files"):
        checked(with_element(element))


@pytest.mark.parametrize(
    "function",
    [
        "${__BeanShell(1)}",
        "${__groovy(1)}",
        "${__javaScript(1)}",
        "${__jexl3(1)}",
        "${__FileToString(/etc/passwd)}",
        "${__StringFromFile(/etc/passwd)}",
        "${__CSVRead(/etc/passwd,0)}",
        "${__XPath(/etc/x,//y)}",
        "${__setProperty(a,b)}",
        "${__eval(x)}",
        "${ __exec(x)}",
        "${__P(a,${__groovy(1)})}",
        "${${x}}",
        "${__property(password)}",
        "a ${__P(password)}",
        "${__P(password)}",
        "${__P( password ,x)}",
        "${\\__groovy(1)}",
        "${_\\_groovy(1)}",
        "${\\__FileToString(/etc/passwd)}",
        "${__P(pass\\word)}",
        "${__P(\\password)}",
        "$\\{__groovy(1)}",
        "${__P(user.home)}",
        "${__Random(1,${x})}",
        "${__time(${__groovy(1)},)}",
        "${__RandomString(3,a\\,b)}",
        "${__P(a",
    ],
)
def test_functions_that_reach_further_are_refused_wherever_they_stand(function: str) -> None:
    for text in (
        with_property(f'<stringProp name="x">{function}</stringProp>'),
        with_property(f'<stringProp name="{function}">x</stringProp>'),
        with_element(f'<ConstantTimer testclass="ConstantTimer" testname="{function}"/>'),
    ):
        with pytest.raises(PlanRefused, match=r"is not allowed|own field only"):
            checked(text)


@pytest.mark.parametrize(
    "text",
    [
        "${__Random(1,1000)}",
        "order-${__threadNum}-${__counter(TRUE)}",
        "${__P(rampup,5)} of ${total}",
        "${__time(yyyy-MM-dd'T'HH:mm:ss)}",
        r"\d+ costs \w+",
        "ends$",
    ],
)
def test_plain_variables_functions_and_patterns_may_stand_anywhere(text: str) -> None:
    assert checked(with_property(f'<stringProp name="x">{text}</stringProp>')).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("${__P(jdbc_url)}", "jdbc:postgresql://other/db?socketFactory=x"),
        ("org.postgresql.Driver", "org.h2.Driver"),
        ("${__P(user)}", "postgres"),
        ('<stringProp name="password">${__P(password)}', '<stringProp name="password">guess'),
        (
            '<stringProp name="TestPlan.user_define_classpath">',
            '<stringProp name="TestPlan.user_define_classpath">/tmp/x.jar',
        ),
        (
            '<stringProp name="queryTimeout">',
            '<stringProp name="connectionProperties">a=b</stringProp><stringProp name="queryTimeout">',
        ),
    ],
)
def test_jdbc_goes_to_the_runs_own_target_only(old: str, new: str) -> None:
    assert old in JDBC
    with pytest.raises(PlanRefused, match="must be"):
        checked(JDBC.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shop.example", "${host}"),
        ("shop.example", "${__P(host)}"),
        (">8080<", ">${port}<"),
        (">http<", ">file<"),
        ('HTTPSampler.path">/<', 'HTTPSampler.path">http://169.254.169.254/<'),
        ('HTTPSampler.path">/<', 'HTTPSampler.path">${path}<'),
        ('HTTPSampler.path">/<', 'HTTPSampler.path">//other/<'),
        ('follow_redirects">false', 'follow_redirects">true'),
        ('auto_redirects">false', 'auto_redirects">true'),
        (
            '<stringProp name="HTTPSampler.domain">shop.example</stringProp>',
            '<longProp name="HTTPSampler.domain">${x}</longProp>',
        ),
    ],
)
def test_http_goes_to_hosts_that_are_written_out(old: str, new: str) -> None:
    assert old in HTTP
    with pytest.raises(PlanRefused, match=r"written out|must begin with|must be false"):
        checked(HTTP.replace(old, new))


@pytest.mark.parametrize(
    "xml",
    [
        '<stringProp name="HTTPSampler.proxyHost">other</stringProp>',
        '<boolProp name="HTTPSampler.image_parser">true</boolProp>',
        '<stringProp name="HTTPSampler.FILE_NAME">/etc/passwd</stringProp>',
        '<stringProp name="CookieManager.implementation">evil.Handler</stringProp>',
    ],
)
def test_ways_to_other_hosts_and_files_are_closed(xml: str) -> None:
    with pytest.raises(PlanRefused, match="must be"):
        checked(with_property(xml))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not xml", "the plan is not XML"),
        ("<html/>", "the file is a html, no JMeter test plan"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><jmeterTestPlan/>', "declares a document type"),
        (f"<jmeterTestPlan>{'x' * 1_000_001}</jmeterTestPlan>", "more than 1,000,000 bytes"),
    ],
)
def test_what_is_no_plan_is_told(text: str, reason: str) -> None:
    with pytest.raises(PlanRefused, match=reason):
        checked(text)
