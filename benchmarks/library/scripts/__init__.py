"""The scripts of users: the library that keeps them, and who may run them where."""
