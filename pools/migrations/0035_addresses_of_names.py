from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('pools', '0034_file_fetches'),
    ]

    operations = [
        migrations.AddField(
            model_name='clusternode',
            name='ip_address',
            field=models.CharField(default='', editable=False, max_length=45),
        ),
        migrations.AddField(
            model_name='clusterstatus',
            name='ip_address',
            field=models.CharField(default='', editable=False, max_length=45),
        ),
        migrations.AddField(
            model_name='entry',
            name='addresses',
            field=models.JSONField(default=dict),
        ),
    ]
