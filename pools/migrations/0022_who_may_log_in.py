"""Pools let in their own user alone; those of before stay open until somebody has seen who would be refused."""

from django.db import migrations, models


def keep_open(apps, schema_editor):
    pools = apps.get_model('pools', 'Pool').objects.filter(pooler__kind='pgbouncer')
    pools.exclude(user='').update(allowed_users='*')


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0021_applied_at'),
    ]

    operations = [
        migrations.AddField(
            model_name='pool',
            name='allowed_users',
            field=models.TextField(blank=True, default='', help_text='Roles besides its user, one a line; *: every user that the pooler knows'),
        ),
        migrations.RunPython(keep_open, migrations.RunPython.noop),
    ]
