"""The console's verbs and words on real PgBouncers, each on the installed release and, where there is one, a newer."""
