from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0006_datasets_by_engine'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['parent', 'number'], name='runs_in_order'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['parent', 'status', 'number'], name='runs_of_a_status'),
        ),
    ]
