from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("pools", "0013_children_behind")]

    operations = [
        migrations.RenameField("pooler", "files_looked_at", "files_checked_at"),
        migrations.RenameField("pooler", "wish_cause", "spec_cause"),
        migrations.RenameField("revisioncontent", "packed_wishes", "packed_specs"),
        migrations.RenameField("poolminute", "looks", "snapshots"),
        migrations.RenameField("poolerminute", "looks", "snapshots"),
    ]
