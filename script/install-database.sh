# The metadata database in the machine's own PostgreSQL: a role and a database, and nothing else of it is changed.
# shellcheck shell=bash

# Not the account's name: Debian lets an account log in as the role of its name without a password, and then whatever the
# panel connects to for a user, over a Unix socket as this account, could be the panel's own database.
ROLE=pooldeck_panel DATABASE=pooldeck

as_postgres() { # as_postgres PORT SQL...: the words of SQL come by standard input, so that no list of processes has them
  local port=$1
  shift
  printf '%s\n' "$@" | (cd / && exec runuser -u postgres -- psql -X -q -t -A -v ON_ERROR_STOP=1 -p "$port" -d postgres -f -)
}

# The port of the cluster that is used: the first that runs.
find_cluster() {
  local found
  found=$(pg_lsclusters --no-header | awk '$4 ~ /^online/ && $4 !~ /recovery/ {print $3; exit}')
  [ -n "$found" ] || fail 1 "no PostgreSQL cluster runs here: $(pg_lsclusters --no-header | head -3)" \
    "make or start one: pg_createcluster VERSION main --start, or pg_ctlcluster VERSION main start"
  printf '%s' "$found"
}

can_log_in() { # can_log_in URL
  DATABASE_URL=$1 "$PREFIX/current/bin/python" - << 'PYTHON' 2>&1
import os
import psycopg

try:
    psycopg.connect(os.environ["DATABASE_URL"], connect_timeout=5).close()
except psycopg.Error as error:
    raise SystemExit(str(error)) from None
PYTHON
}

existing() { # existing PORT: what it has of our names
  as_postgres "$1" "SELECT 'role $ROLE' FROM pg_roles WHERE rolname = '$ROLE';" \
    "SELECT 'database $DATABASE' FROM pg_database WHERE datname = '$DATABASE';"
}

# The URL's port and password, where it names a database that script/install makes.
is_ours() { # is_ours URL
  [[ $1 =~ ^postgresql://$ROLE:([A-Za-z0-9_-]+)@127\.0\.0\.1:([0-9]+)/$DATABASE$ ]]
}

create_database() { # create_database PORT PASSWORD
  as_postgres "$1" "SET password_encryption = 'scram-sha-256';" "CREATE ROLE $ROLE LOGIN PASSWORD '$2';" \
    "CREATE DATABASE $DATABASE OWNER $ROLE TEMPLATE template0 ENCODING 'UTF8';" \
    "REVOKE ALL ON DATABASE $DATABASE FROM PUBLIC;"
}

make_database() {
  local said found port
  DATABASE_URL=$(setting DATABASE_URL)
  if [ -z "$DATABASE_URL" ]; then
    port=$(find_cluster)
    found=$(existing "$port")
    [ -z "$found" ] || fail 1 "PostgreSQL on port $port has the ${found//$'\n'/ and the } already, and $SETTINGS/environment does not name it" \
      "write DATABASE_URL=postgresql://USER:PASSWORD@127.0.0.1:$port/$DATABASE into that file, or drop or rename what is there"
    DATABASE_URL=postgresql://$ROLE:$("$PREFIX/current/bin/python" -c 'import secrets; print(secrets.token_urlsafe(32))')@127.0.0.1:$port/$DATABASE
    write_settings > /dev/null # first: an installation that is ended here goes on with the same password
  fi
  if said=$(can_log_in "$DATABASE_URL"); then
    report ok "metadata database"
    return
  fi
  if ! is_ours "$DATABASE_URL" || [ -n "$(existing "${BASH_REMATCH[2]}")" ]; then
    fail 1 "the metadata database refuses the login: $said" "correct DATABASE_URL in $SETTINGS/environment, or start PostgreSQL"
  fi
  is_ours "$DATABASE_URL"
  create_database "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}"
  said=$(can_log_in "$DATABASE_URL") || fail 1 "the new metadata database refuses the login: $said" \
    "let pg_hba.conf have a line: host $DATABASE $ROLE 127.0.0.1/32 scram-sha-256"
  report changed "metadata database $DATABASE and role $ROLE"
}
