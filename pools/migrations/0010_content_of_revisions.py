import json

import django.db.models.deletion
from django.db import migrations, models

from pools.models.revisions import packed, unpacked


def move_out(apps, schema_editor):
    """Each revision's files and wishes get a row of their own, the wishes as text with one pool a line."""
    content = apps.get_model("pools", "RevisionContent")
    revisions = apps.get_model("pools", "Revision").objects.order_by("pk")
    for one in revisions.iterator(chunk_size=1):  # each may be megabytes long
        content.objects.create(
            revision_id=one.pk,
            sealed_files=one.sealed_files,
            sealed_given=one.sealed_given,
            packed_wishes=packed(text_of(one.wishes)),
        )


def move_back(apps, schema_editor):
    """The reverse of `move_out`."""
    revisions = apps.get_model("pools", "Revision").objects
    for one in apps.get_model("pools", "RevisionContent").objects.order_by("pk").iterator(chunk_size=1):
        wishes = wishes_of(unpacked(bytes(one.packed_wishes)))
        kept = {"sealed_files": one.sealed_files, "sealed_given": one.sealed_given, "wishes": wishes}
        revisions.filter(pk=one.revision_id).update(**kept)


def text_of(wishes):
    others = {name: value for name, value in wishes.items() if name != "pools"}
    pools = [json.dumps({"id": fields["id"], **fields}) for fields in wishes.get("pools", [])]
    return "\n".join([json.dumps(others), *pools]) if wishes else ""


def wishes_of(text):
    others, *pools = text.split("\n")
    return {"pools": [json.loads(line) for line in pools], **json.loads(others)} if others else {}


class Migration(migrations.Migration):
    dependencies = [
        ("pools", "0009_apply_holders"),
    ]

    operations = [
        migrations.CreateModel(
            name="RevisionContent",
            fields=[
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="content",
                        serialize=False,
                        to="pools.revision",
                    ),
                ),
                ("sealed_files", models.TextField(default="")),
                ("sealed_given", models.TextField(default="")),
                ("packed_wishes", models.BinaryField(default=b"")),
            ],
        ),
        migrations.RunPython(move_out, move_back),
        migrations.RemoveField(model_name="revision", name="sealed_files"),
        migrations.RemoveField(model_name="revision", name="sealed_given"),
        migrations.RemoveField(model_name="revision", name="wishes"),
    ]
