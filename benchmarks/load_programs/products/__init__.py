"""The products service: a small web service that shows what a pool inside an application is worth."""
