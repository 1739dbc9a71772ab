from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0007_list_of_runs_in_order'),
    ]

    operations = [
        migrations.AddField(
            model_name='generator',
            name='files',
            field=models.JSONField(default=None, null=True),
        ),
    ]
