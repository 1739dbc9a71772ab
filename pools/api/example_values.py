"""What examples of several serializers and requests refer to; all else is the `example` of its serializer."""

CLUSTER = "0b8f3c52-6f1d-4f0e-8f0a-3f6f1a2b7c10"
POOLER = "4d2a7b96-1c3e-4a58-b7d9-90e1f2a3b4c5"
POOL = "9d2b4e70-5a31-4c8f-8e16-2f7a9c3d5b01"
SERVER = {"host": "db1.example.org", "port": 5432}
DATABASES_INI = (
    "[databases]\norders = host=db1.example.org port=5432 dbname=orders pool_size=10 pool_mode=transaction\n"
)
