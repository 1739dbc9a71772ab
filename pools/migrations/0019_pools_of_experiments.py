from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pools", "0018_pools_that_fail")]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="made_for",
            field=models.CharField(
                default="",
                editable=False,
                help_text="The experiment that made it for itself, if one did",
                max_length=60,
            ),
        ),
    ]
