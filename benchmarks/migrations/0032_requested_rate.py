"""The rate that was asked for while a stage of a run went on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0031_notices_of_schedules")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="requested_rate",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="requested_rate_stage",
            field=models.PositiveSmallIntegerField(null=True),
        ),
    ]
