from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0015_labels_of_phases")]

    operations = [
        migrations.AddField(
            model_name="appliedprofile",
            name="restarted",
            field=models.BooleanField(default=False),
        ),
    ]
