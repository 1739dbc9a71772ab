"""The products service: a small web service that shows what pooling inside an application is worth."""
