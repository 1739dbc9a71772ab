import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_limited_tokens'),
        ('pools', '0033_preflight_steps'),
    ]

    operations = [
        migrations.CreateModel(
            name='FileFetch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fetched_at', models.DateTimeField(null=True)),
                ('asked_at', models.DateTimeField()),
                ('pooler', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='fetches', to='pools.pooler')),
                ('revision', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='pools.revision')),
                ('token', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='file_fetches', to='accounts.apitoken')),
            ],
            options={
                'ordering': ['-asked_at'],
                'constraints': [models.UniqueConstraint(fields=('pooler', 'token'), name='one_fetch_of_a_token')],
            },
        ),
    ]
