from django.db import migrations, models
from django.utils import timezone


def were_applied(apps, schema_editor):
    """Whether an older pool was ever live is not known: it counts as before."""
    apps.get_model("pools", "Pool").objects.update(applied_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [("pools", "0020_labels_of_events")]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="applied_at",
            field=models.DateTimeField(editable=False, help_text="When an apply of it was last verified", null=True),
        ),
        migrations.RunPython(were_applied, migrations.RunPython.noop),
    ]
