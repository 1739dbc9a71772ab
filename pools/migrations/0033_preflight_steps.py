from django.db import migrations

BEFORE, NOW = "rehearsed", "preflight passed"


def rename_step(revisions, old, new):
    """Rewrite the word of one step, a revision at a time: there may be a hundred thousand, each with a long log."""
    for one in revisions.filter(steps__icontains=f'"{old}"').only("pk", "steps").iterator(chunk_size=100):
        steps = [step | {"step": new} if step.get("step") == old else step for step in one.steps]
        revisions.filter(pk=one.pk).update(steps=steps)


def forwards(apps, schema_editor):
    rename_step(apps.get_model("pools", "Revision").objects, BEFORE, NOW)


def backwards(apps, schema_editor):
    rename_step(apps.get_model("pools", "Revision").objects, NOW, BEFORE)


class Migration(migrations.Migration):
    dependencies = [("pools", "0032_desired_processes")]

    operations = [migrations.RunPython(forwards, backwards)]
