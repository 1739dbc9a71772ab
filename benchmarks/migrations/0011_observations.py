import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0010_external_endpoints")]

    operations = [
        migrations.RenameModel("Look", "Observation"),
        migrations.AlterField(
            "observation",
            "run",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="observations", to="benchmarks.run"
            ),
        ),
    ]
