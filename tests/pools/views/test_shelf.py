"""The pages of the shelf."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pools.models import Cluster, ClusterCreation, CreationState, ShelfEntry
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.create_files import REGION, SIZE, CreateFile, a_creation, create_file
from tests.pools.records import a_cluster, a_pool, a_pooler

__all__ = ["create_file"]
pytestmark = pytest.mark.django_db
TYPED = {"size": "db-s-1vcpu-2gb", "region": "nyc1"}


def an_entry(name: str, **fields: object) -> ShelfEntry:
    return ShelfEntry.objects.create(cluster=a_cluster(name=name), name=name, **TYPED | fields)


def staff_of(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


def test_an_empty_shelf_names_the_next_step(staff: Client, reader: Client) -> None:
    assert "Put a cluster on the shelf" in page_of(staff.get(reverse("shelf-list")))
    assert "An owner of a team has to" in page_of(reader.get(reverse("shelf-list")))


def test_the_list_shows_free_and_claimed_clusters(staff: Client) -> None:
    an_entry("spare-1")
    entry = an_entry("spare-2", claimed_at=timezone.now(), drop_on_return=True)
    Cluster.objects.filter(pk=entry.pk).update(name="orders")
    shown = page_of(staff.get(reverse("shelf-list")))
    for words in ("spare-1", "free", "orders", "on the shelf as spare-2", "drops what its client created"):
        assert words in shown
    assert shown.count("Take off") == 1


def test_the_list_takes_as_many_queries_for_three_clusters_as_for_one(staff: Client) -> None:
    an_entry("spare-1")
    one = queries_of(staff, reverse("shelf-list"))
    for name in ("spare-2", "spare-3"):
        an_entry(name)
    assert queries_of(staff, reverse("shelf-list")) == one


def test_a_cluster_is_put_on_the_shelf(staff: Client) -> None:
    cluster, pooler = a_cluster(name="spare-1"), a_pooler()
    answer = staff.post(reverse("shelf-create"), TYPED | {"cluster": cluster.pk, "pooler": pooler.pk})
    assert (answer.status_code, answer.url) == (302, reverse("shelf-list"))
    entry = ShelfEntry.objects.get()
    assert (entry.cluster, entry.name, entry.size, entry.region, entry.pooler, entry.drop_on_return) == (
        cluster, "spare-1", "db-s-1vcpu-2gb", "nyc1", pooler, False
    )  # fmt: skip


def test_only_clusters_without_pools_are_offered(staff: Client) -> None:
    free, used = a_cluster(name="spare-1"), a_pool().cluster
    an_entry("spare-2")
    offered = staff.get(reverse("shelf-create")).context["form"].fields["cluster"].queryset
    assert list(offered) == [free]
    assert staff.post(reverse("shelf-create"), TYPED | {"cluster": used.pk}).status_code == 200
    assert ShelfEntry.objects.count() == 1


def test_what_was_typed_stays_beside_an_error(staff: Client) -> None:
    cluster = a_cluster(name="spare-1")
    shown = page_of(staff.post(reverse("shelf-create"), {"cluster": cluster.pk, "size": "no space", "region": "nyc1"}))
    assert 'value="no space"' in shown
    assert "be asked for" in shown
    assert not ShelfEntry.objects.exists()


def test_an_entry_is_changed_and_taken_off(staff: Client) -> None:
    entry = an_entry("spare-1")
    answer = staff.post(
        reverse("shelf-edit", args=[entry.pk]), {"size": "big", "region": "ams3", "drop_on_return": "on"}
    )
    assert answer.status_code == 302
    entry.refresh_from_db()
    assert (entry.size, entry.region, entry.drop_on_return) == ("big", "ams3", True)
    assert staff.post(reverse("shelf-remove", args=[entry.pk])).status_code == 302
    assert (ShelfEntry.objects.exists(), Cluster.objects.exists()) == (False, True)


def test_a_claimed_cluster_stays_on_the_shelf(staff: Client) -> None:
    entry = an_entry("spare-1", claimed_at=timezone.now())
    shown = page_of(staff.post(reverse("shelf-remove", args=[entry.pk]), follow=True))
    assert "is claimed" in shown
    assert ShelfEntry.objects.exists()


def test_readers_only_look(reader: Client) -> None:
    entry = an_entry("spare-1")
    assert reader.get(reverse("shelf-list")).status_code == 200
    assert reader.get(reverse("shelf-create")).status_code == 403
    assert reader.post(reverse("shelf-remove", args=[entry.pk])).status_code == 403


def test_staff_give_a_claimed_cluster_back(staff: Client) -> None:
    entry = an_entry("spare-1", claimed_at=timezone.now())
    Cluster.objects.update(name="orders")
    pool = a_pool(cluster=entry.cluster, name="web")
    url = reverse("shelf-return", args=[entry.pk])
    assert "web" in page_of(staff.get(url))
    assert "“other” is not the name “orders”" in page_of(staff.post(url, {"name": "other"}))
    assert staff.post(url, {"name": "orders"}).status_code == 302
    pool.refresh_from_db()
    entry.refresh_from_db()
    assert (entry.claimed_at, entry.cluster.name, pool.removal_requested_at is None) == (None, "spare-1", False)


def test_a_free_cluster_can_not_be_given_back(staff: Client) -> None:
    entry = an_entry("spare-1")
    assert "not claimed" in page_of(staff.post(reverse("shelf-return", args=[entry.pk]), {"name": "spare-1"}))


def test_creations_and_offers_are_shown_with_the_reason_for_staff_only(
    staff: Client, reader: Client, create_file: CreateFile
) -> None:
    create_file.offer(versions=["15", "16"])
    a_creation(name="orders")
    a_creation(name="shop", state=CreationState.FAILED, reason="no server is left")
    shown = page_of(staff.get(reverse("shelf-list")))
    for words in (f"{SIZE} {REGION} 15/16", "orders", "creating", "shop", "not created", "no server is left"):
        assert words in shown
    assert shown.count("Dismiss") == 2  # its text and its label
    assert "no server is left" not in page_of(reader.get(reverse("shelf-list")))


def test_a_broken_file_is_shown_to_staff(staff: Client, reader: Client, create_file: CreateFile) -> None:
    create_file.offer(timeout_s=0)
    assert "line 6, create.0.timeout_s" in page_of(staff.get(reverse("shelf-list")))
    assert "create.0.timeout_s" not in page_of(reader.get(reverse("shelf-list")))


def test_creations_take_as_many_queries_for_three_as_for_one(staff: Client) -> None:
    a_creation(name="first", author=staff_of(staff))
    one = queries_of(staff, reverse("shelf-list"))
    for name in ("second", "third"):
        a_creation(name=name, author=staff_of(staff))
    assert queries_of(staff, reverse("shelf-list")) == one


def test_a_failed_creation_is_dismissed(staff: Client, reader: Client) -> None:
    failed = a_creation(state=CreationState.FAILED)
    going_on = a_creation(name="shop")
    for creation in (failed, going_on):
        address = reverse("creation-dismiss", args=[creation.pk])
        assert (staff.get(address).status_code, reader.post(address).status_code) == (405, 403)
        assert staff.post(address).url == reverse("shelf-list")
    assert ClusterCreation.objects.get() == going_on
    assert staff.post(reverse("creation-dismiss", args=[failed.pk])).status_code == 404


def test_a_return_that_deletes_is_announced_and_its_failure_shown(staff: Client, create_file: CreateFile) -> None:
    create_file.offer(delete="pass")
    entry = an_entry("orders", claimed_at=timezone.now())
    creation = a_creation(pk=entry.pk, cluster=entry.cluster, state=CreationState.CREATED)
    address = reverse("shelf-return", args=[entry.pk])
    assert "deletes it with all its data" in page_of(staff.get(address))
    assert staff.post(address, {"name": "orders"}).status_code == 302
    creation.refresh_from_db()
    assert creation.state == CreationState.DELETING
    shown = page_of(staff.get(reverse("shelf-list")))
    assert ("is being deleted" in shown, "deleting" in shown) == (True, True)
    ClusterCreation.objects.update(state=CreationState.NOT_DELETED, reason="it is locked")
    assert "it is locked" in page_of(staff.get(reverse("shelf-list")))
