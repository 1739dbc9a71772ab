"""The pages of revisions: who did what when, what changed, and the way back."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from pools.deployment import snapshots
from pools.models import Pooler, PoolState, Revision, RevisionState
from tests.callers import anonymous, queries_of
from tests.pages import page_of
from tests.pools.conftest import Asked
from tests.pools.records import a_pool, a_pooler

OLD = {"pooldeck.ini": "[databases]\norders = host='a' password='old-word' pool_size=3\n"}
NEW = {"pooldeck.ini": "[databases]\norders = host='a' password='new-word' pool_size=7\n"}


def revise(pooler: Pooler, files: dict[str, str], state: str = RevisionState.APPLIED, **described: object) -> Revision:
    revision = Revision.objects.draft(pooler, files, specs=snapshots.snapshot(pooler), **described)
    revision.finish(state, "" if state == RevisionState.APPLIED else "it was refused")
    return revision


@pytest.fixture
def pooler(db: None) -> Pooler:
    """A pooler whose pool grew from revision 1 to 2, and then a revision that did not go live."""
    pooler = a_pooler(name="front")
    pool = a_pool(pooler=pooler, name="orders", size=3, state=PoolState.APPLIED)
    revise(pooler, OLD)
    pool.edit(None, size=7)
    revise(pooler, NEW, summary="orders: size 3 → 7", cause="rollback to 0")
    revise(pooler, {}, RevisionState.ROLLED_BACK)
    return pooler


def page(client: Client, name: str, *args: object) -> str:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200
    return page_of(answer)


def test_the_list_says_what_changed_why_and_what_is_live(reader: Client, pooler: Pooler) -> None:
    text = page(reader, "pooler-revisions", pooler.pk)
    assert "orders: size 3 → 7" in text
    assert "rollback to 0" in text
    assert "it was refused" in text
    assert "is live" in text


def test_the_list_is_filtered_by_state(reader: Client, pooler: Pooler) -> None:
    text = page_of(reader.get(reverse("pooler-revisions", args=[pooler.pk]), {"state": "rolled_back"}))
    assert ("it was refused" in text, "orders: size" in text) == (True, False)


def test_the_list_takes_the_same_queries_whatever_its_length(staff: Client, pooler: Pooler) -> None:
    other = a_pooler()
    revise(other, OLD)
    urls = [reverse("pooler-revisions", args=[one.pk]) for one in (other, pooler)]
    assert queries_of(staff, urls[0]) == queries_of(staff, urls[1])


def test_a_revision_shows_what_it_changed_without_a_secret(reader: Client, pooler: Pooler) -> None:
    text = page(reader, "pooler-revision", pooler.pk, 2)
    assert "pool_size=7" in text
    assert "secret changed" in text
    assert "-word" not in text


def test_a_line_of_a_difference_stands_alone_in_what_keeps_its_white_space(reader: Client, pooler: Pooler) -> None:
    text = page(reader, "pooler-revision", pooler.pk, 2)
    lines = re.findall(r'<td class="pd-diff-text">\s*<code>(.*?)</code>', text, re.DOTALL)
    assert any("pool_size=7" in line for line in lines)
    assert not any(line.startswith(("\n", " ")) or line.endswith(("\n", " ")) for line in lines)


def test_a_revision_is_compared_with_any_other(reader: Client, pooler: Pooler) -> None:
    url = reverse("pooler-revision", args=[pooler.pk, 1])
    text = page_of(reader.get(url, {"against": "2"}))
    assert "pd-diff-removed" in text
    assert reader.get(url, {"against": "99"}).status_code == 404
    assert reader.get(url, {"against": "x"}).status_code == 404


def test_a_revision_without_files_says_so(reader: Client, pooler: Pooler) -> None:
    assert "No file was rendered" in page(reader, "pooler-revision", pooler.pk, 3)


def test_a_revision_that_is_not_there_is_not_found(reader: Client, pooler: Pooler) -> None:
    assert reader.get(reverse("pooler-revision", args=[pooler.pk, 99])).status_code == 404


def test_the_way_back_shows_the_diff_first(staff: Client, pooler: Pooler) -> None:
    text = page(staff, "pooler-rollback", pooler.pk, 1)
    assert "From revision 2, which is live, to revision 1" in text
    assert "pool_size=3" in text
    assert pooler.pools.get().state == PoolState.APPLIED


def test_the_way_back_names_the_pools_above_the_diff(staff: Client, pooler: Pooler) -> None:
    a_pool(pooler=pooler, name="newcomer", state=PoolState.APPLIED)
    text = page(staff, "pooler-rollback", pooler.pk, 1)
    described = text[text.index("Effects of the rollback") : text.index("pd-diff")]
    assert ("Pools that it removes" in described, "<li>newcomer</li>" in described) == (True, True)
    assert ("Pools that it changes" in described, "<li>orders: size 7 → 3</li>" in described) == (True, True)
    assert "Pools that it brings back" not in described


def test_the_way_back_is_red_where_it_removes_a_pool(staff: Client, pooler: Pooler) -> None:
    harmless = page(staff, "pooler-rollback", pooler.pk, 1)
    a_pool(pooler=pooler, name="newcomer", state=PoolState.APPLIED)
    harmful = page(staff, "pooler-rollback", pooler.pk, 1)
    assert ("btn-danger" in harmless, "btn-danger" in harmful) == (False, True)


def test_the_way_back_is_taken_after_a_confirmation(staff: Client, pooler: Pooler, asked: Asked) -> None:
    answer = staff.post(reverse("pooler-rollback", args=[pooler.pk, 1]))
    assert answer.status_code == 302
    pool = pooler.pools.get()
    assert (pool.size, pool.state, asked()) == (3, PoolState.PENDING, [str(pooler.pk)])


def test_a_rollback_that_can_not_be_says_why(staff: Client, pooler: Pooler) -> None:
    answer = staff.post(reverse("pooler-rollback", args=[pooler.pk, 3]))
    assert (answer.status_code, "never was live" in page_of(answer)) == (400, True)


def test_only_staff_goes_back(reader: Client, pooler: Pooler) -> None:
    url = reverse("pooler-rollback", args=[pooler.pk, 1])
    assert (reader.get(url).status_code, reader.post(url).status_code) == (403, 403)
    assert anonymous().get(url).status_code == 302
