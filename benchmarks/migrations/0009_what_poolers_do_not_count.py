from django.db import migrations, models


def forget_zeros(apps, schema_editor):
    """Looks at Pgpool-II said 0 for what it does not count."""
    looks = apps.get_model('benchmarks', 'PoolSample').objects.filter(run__pool__pooler__kind='pgpool')
    looks.update(cl_waiting=None, maxwait_ms=None)


def zeros_again(apps, schema_editor):
    """Before, nothing could be unknown."""
    looks = apps.get_model('benchmarks', 'PoolSample').objects
    looks.filter(cl_waiting=None).update(cl_waiting=0)
    looks.filter(maxwait_ms=None).update(maxwait_ms=0)


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0008_files_of_generators'),
    ]

    operations = [
        migrations.AlterField(
            model_name='poolsample',
            name='cl_waiting',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name='poolsample',
            name='maxwait_ms',
            field=models.FloatField(null=True),
        ),
        migrations.RunPython(forget_zeros, zeros_again),
    ]
