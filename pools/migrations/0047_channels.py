import uuid

import django.utils.timezone
from django.db import migrations, models

import pools.models.channels


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0046_client_limit'),
    ]

    operations = [
        migrations.CreateModel(
            name='NotificationChannel',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('version', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=63, unique=True)),
                ('service', models.CharField(editable=False, max_length=32)),
                ('sealed_url', models.TextField(default='', editable=False)),
                ('enabled', models.BooleanField(default=True)),
                ('group_s', models.PositiveIntegerField(default=60, help_text='Seconds for which events of one pooler or cluster are collected')),
                ('quiet_from', models.TimeField(blank=True, null=True)),
                ('quiet_until', models.TimeField(blank=True, null=True)),
                ('time_zone', models.CharField(default=pools.models.channels._own_zone, max_length=64)),
                ('urgent_passes', models.BooleanField(default=True)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AddField(
            model_name='notice',
            name='cause',
            field=models.UUIDField(help_text='The pooler or cluster whose events are told in one message', null=True),
        ),
        migrations.AddField(
            model_name='notice',
            name='is_held',
            field=models.BooleanField(default=False, db_default=False, help_text='Held back by quiet hours, for the digest at their end'),
        ),
        migrations.AlterField(
            model_name='notice',
            name='channel',
            field=models.CharField(max_length=36),
        ),
        migrations.AlterField(
            model_name='approvalnotice',
            name='channel',
            field=models.CharField(max_length=36),
        ),
    ]
