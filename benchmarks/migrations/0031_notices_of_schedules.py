import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import F


def judge_past_nights(apps, schema_editor):
    """No message tells of nights that ended before there were messages."""
    apps.get_model("benchmarks", "ScheduledStart").objects.update(judged_at=F("claimed_at"))


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0030_indexes_of_teams'),
    ]

    operations = [
        migrations.AddField(
            model_name='schedule',
            name='notify_on_change',
            field=models.BooleanField(default=True, db_default=True),
        ),
        migrations.AddField(
            model_name='schedule',
            name='weekly_summary',
            field=models.BooleanField(default=True, db_default=True),
        ),
        migrations.AddField(
            model_name='scheduledstart',
            name='judged_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name='scheduledstart',
            index=models.Index(condition=models.Q(('judged_at', None), ('run__isnull', False), ('state', 'started')), fields=['due_at'], name='starts_to_judge'),
        ),
        migrations.CreateModel(
            name='ScheduleNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(max_length=36)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('batch', models.UUIDField(help_text='The message that carries it', null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('error', models.TextField(default='')),
                ('kind', models.CharField(choices=[('worse', 'changed for the worse'), ('week', 'the week')], max_length=5)),
                ('metric', models.CharField(default='', max_length=20)),
                ('since', models.DateTimeField()),
                ('title', models.TextField()),
                ('message', models.TextField()),
                ('value', models.FloatField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('schedule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='benchmarks.schedule')),
            ],
            options={
                'ordering': ['created_at', 'pk'],
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['due_at'], name='schedule_notices_to_send')],
                'constraints': [models.UniqueConstraint(fields=('schedule', 'kind', 'metric', 'since', 'channel'), name='one_notice_of_a_change')],
            },
        ),
        migrations.RunPython(judge_past_nights, migrations.RunPython.noop),
    ]
