import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0003_causes_summaries_and_drift'),
    ]

    operations = [
        migrations.AddField(
            model_name='pooler',
            name='pcp_port',
            field=models.PositiveIntegerField(blank=True, help_text="Pgpool-II's control port", null=True),
        ),
        migrations.AddField(
            model_name='pooler',
            name='facts',
            field=models.JSONField(default=dict, editable=False),
        ),
        migrations.AddField(
            model_name='pool',
            name='through',
            field=models.ForeignKey(blank=True, help_text='A Pgpool-II', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='chained_pools', to='pools.pooler'),
        ),
    ]
