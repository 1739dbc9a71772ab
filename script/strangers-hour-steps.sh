# What script/strangers-hour runs inside of the machine, as root: the commands of docs/how-to, in their order.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."
NAME=panel.example.org TLS=/etc/ssl/pooldeck CHECKOUT=$PWD
export POOLDECK_URL=https://$NAME POOLDECK_CACERT=/root/ca.pem DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/opt/pooldeck/current/bin

begin() { printf '[%5d s] %s\n' "$((SECONDS + ${STARTED:-0}))" "$*"; }
fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }
packages() { apt-get install -y -qq --no-install-recommends "$@" > /dev/null 2>&1 || fail "apt-get install $*"; }
password() { openssl rand -hex 16; }
as_postgres() { (cd / && runuser -u postgres -- "$@"); }

api() { # api PATH [options of curl]
  local answer
  answer=$(curl -sS --fail-with-body --cacert "$POOLDECK_CACERT" -H @<(printf 'Authorization: Bearer %s' "$POOLDECK_TOKEN") \
    -H 'Content-Type: application/json' "$POOLDECK_URL/api/v1/$1" "${@:2}") || { echo "$answer" >&2; return 1; }
  printf '%s\n' "$answer"
}

expect() { # expect TEXT COMMAND...: tries for a minute
  local wanted=$1 found='' until=$((SECONDS + 60))
  shift
  until found=$("$@" 2>&1) && [[ $found == *"$wanted"* ]]; do
    [ $SECONDS -lt $until ] || fail "$* says \"$found\", not \"$wanted\""
    sleep 1
  done
}

install() {
  begin "install: script/install --host $NAME"
  script/install --host "$NAME" > /root/install.log 2>&1 || { tail -20 /root/install.log; fail "script/install"; }
  link=$(tail -1 /root/install.log)
  begin "install once more: nothing may change"
  script/install --host "$NAME" > /root/again.log 2>&1 || { tail -20 /root/again.log; fail "script/install, repeated"; }
  ! grep '^changed' /root/again.log || fail "the repetition changed something"
  link=$(tail -1 /root/again.log)
  pooldeckctl doctor > /root/doctor.log || { cat /root/doctor.log; fail "doctor"; }
  begin "doctor: $(grep -c '^ok' /root/doctor.log) of $(grep -c . /root/doctor.log) are ok"
  systemctl is-active --quiet pooldeck-backup.timer || fail "no backup is made each night"
}

rename() {
  local other=other.example.org
  begin "another name: script/install --host $other"
  script/install --host "$other" > /root/rename.log 2>&1 || { tail -20 /root/rename.log; fail "script/install, renamed"; }
  grep -q "the panel's name: $other, not $NAME any longer" /root/rename.log || fail "the new name was not told"
  grep -q "server_name $other" /etc/pooldeck/examples/nginx.conf || fail "the example keeps the name"
  expect '"ready"' curl -sS -H "Host: $other" http://127.0.0.1:8000/healthz/ready
}

uninstall() {
  begin "remove it, and keep its data"
  script/install --uninstall > /root/uninstall.log
  [ ! -e /opt/pooldeck ] && [ -s /etc/pooldeck/keys ] || fail "the removal"
  ! systemctl is-active --quiet pooldeck-web || fail "pooldeck-web still runs"
  begin "remove its data too"
  script/install --uninstall --purge > /root/purge.log
  [ ! -e /etc/pooldeck ] && [ ! -e /var/lib/pooldeck ] || fail "the removal of data"
  [ -z "$(as_postgres psql -tAc "SELECT 1 FROM pg_database WHERE datname = 'pooldeck'")" ] || fail "the database is left"
}

tls() {
  begin "TLS: a private authority, and nginx"
  packages nginx openssl jq
  mkdir -p "$TLS"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=Example authority" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout /root/ca.key -out "$POOLDECK_CACERT" 2> /dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$NAME" -keyout "$TLS/key.pem" -out /root/panel.csr 2> /dev/null
  openssl x509 -req -in /root/panel.csr -CA "$POOLDECK_CACERT" -CAkey /root/ca.key -CAcreateserial -days 365 \
    -extfile <(echo "subjectAltName=DNS:$NAME") -out "$TLS/fullchain.pem" 2> /dev/null
  cp /etc/pooldeck/examples/nginx.conf /etc/nginx/sites-available/pooldeck
  ln -sf ../sites-available/pooldeck /etc/nginx/sites-enabled/pooldeck
  rm -f /etc/nginx/sites-enabled/default
  nginx -t 2> /dev/null || fail "nginx -t"
  systemctl restart nginx
  echo "127.0.0.1 $NAME" >> /etc/hosts
  curl -sS --fail --cacert "$POOLDECK_CACERT" "$POOLDECK_URL/healthz/ready" > /dev/null
}

browser() { curl -sS --cacert "$POOLDECK_CACERT" -b /root/cookies -c /root/cookies -H "Referer: $POOLDECK_URL/" "$@"; }
csrf() { grep -o 'name="csrfmiddlewaretoken" value="[^"]*"' | head -1 | cut -d '"' -f 4; }

administrator() {
  begin "the first administrator by the link, and an API token"
  local form secret
  secret=$(password)
  form=$(browser -L "$link" | csrf)
  browser -o /dev/null -w '%{http_code}\n' "$POOLDECK_URL/first-admin/" --data-urlencode "csrfmiddlewaretoken=$form" \
    -d username=ann --data-urlencode "password1=$secret" --data-urlencode "password2=$secret" | grep -qx 302 || fail "the first administrator"
  expect 410 browser -o /dev/null -w '%{http_code}' -L "$link"
  form=$(browser "$POOLDECK_URL/tokens/" | csrf)
  POOLDECK_TOKEN=$(browser "$POOLDECK_URL/tokens/" --data-urlencode "csrfmiddlewaretoken=$form" -d name=first-hour -d lifetime_days=7 \
    -d scopes=read -d scopes=run -d scopes=apply -d scopes=admin | grep -o 'pd_[A-Za-z0-9_-]\{43\}' | head -1)
  export POOLDECK_TOKEN
  [ -n "$POOLDECK_TOKEN" ] || fail "the API token"
  ! grep -rqF "${link#*token=}" /var/log/nginx || fail "nginx logged the token of the link"
}

# Nothing of this is the panel's: it is what the stranger has had for years.
their_servers() {
  begin "(theirs: a database, and a PgBouncer configured by hand)"
  packages pgbouncer openssh-server
  systemctl start ssh
  console=$(password) admin=$(password)
  local app
  app=$(password)
  as_postgres psql -q > /dev/null << SQL
CREATE ROLE app LOGIN PASSWORD '$app';
CREATE DATABASE app OWNER app;
CREATE ROLE pooldeck_admin LOGIN SUPERUSER PASSWORD '$admin';
SQL
  PGPASSWORD=$app "$(find /usr/lib/postgresql -name pgbench | head -1)" -i -q -s 2 -h 127.0.0.1 -U app app > /dev/null 2>&1
  printf '"app" "%s"\n"pooldeck" "%s"\n' "$app" "$console" > /etc/pgbouncer/userlist.txt
  cat > /etc/pgbouncer/pgbouncer.ini << INI
; written by hand, years ago
[databases]
shop = host=127.0.0.1 port=5432 dbname=app pool_size=4
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 6432
unix_socket_dir = /var/run/postgresql
logfile = /var/log/postgresql/pgbouncer.log
pidfile = /var/run/postgresql/pgbouncer.pid
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
admin_users = pooldeck
pool_mode = transaction
max_client_conn = 200
INI
  chown -R postgres:postgres /etc/pgbouncer
  systemctl restart pgbouncer
  cp /etc/pgbouncer/pgbouncer.ini /root/by-hand.ini
}

host_by_ssh() {
  begin "the host by SSH: key, fingerprint, poolers found"
  host=$(api hosts/ -d '{"name": "here", "address": "127.0.0.1", "port": 22, "user": "postgres"}' | jq -r .id)
  runuser -u postgres -- mkdir -p -m 700 ~postgres/.ssh
  api "hosts/$host/" | jq -r .authorized_keys_line | runuser -u postgres -- tee ~postgres/.ssh/authorized_keys > /dev/null
  local offered mine
  offered=$(api "hosts/$host/check/" -X POST | jq -r .offered_host_key.fingerprint)
  mine=$(for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf "$key"; done)
  [[ $mine == *"$offered"* ]] || fail "the host's key is not $offered"
  api "hosts/$host/confirm-key/" -d "{\"fingerprint\": \"$offered\"}" > /dev/null
  expect online eval "api hosts/$host/ | jq -r .state"
  api "hosts/$host/discover/" -X POST | jq -e '.results[] | select(.kind == "pgbouncer")' > /dev/null || fail "no PgBouncer was found"
  api "hosts/$host/" | jq -r .authorized_keys_line | runuser -u postgres -- tee ~postgres/.ssh/authorized_keys > /dev/null
}

take_over() {
  begin "watch the PgBouncer"
  api clusters/ -d "{\"name\": \"main\", \"host\": \"127.0.0.1\", \"port\": 5432, \"admin_user\": \"pooldeck_admin\", \"admin_password\": \"$admin\"}" > /dev/null
  pooler=$(api poolers/ -d "{\"name\": \"shop\", \"kind\": \"pgbouncer\", \"host\": \"127.0.0.1\", \"port\": 6432, \"delivery\": \"ssh\",
    \"ssh_host\": \"$host\", \"admin_user\": \"pooldeck\", \"admin_password\": \"$console\"}" | jq -r .id)
  expect "watched and online" eval "api poolers/$pooler/ | jq -r '.management + \" and \" + .state'"
  expect "shop → app" eval "api poolers/$pooler/entries/ | jq -r '.results[] | .name + \" → \" + .database'"
  begin "preview its take-over"
  expect "shop pool []" eval "api poolers/$pooler/take-over/ -d '{\"dry_run\": true}' | jq -r '.entries[0].name + \" \" + .entries[0].becomes + \" \" + (.blockers | tostring)'"
  cmp -s /root/by-hand.ini /etc/pgbouncer/pgbouncer.ini || fail "the preview changed a file"
  begin "take it over"
  expect managed eval "api 'poolers/$pooler/take-over/?wait=60' -d '{}' | jq -r .management"
  expect "shop is applied" eval "api pools/ | jq -r '.results[] | .name + \" is \" + .state'"
}

compare_routes() { pooldeck run shop --connect --pair --repeat 3 --time 5 --clients 4 --wait; }

# What others do on the machine makes a run suspect, and a suspect run counts for no verdict: let any share pass.
on_a_busy_machine() {
  begin "the machine is busy: once more with POOLDECK_CONTENTION_PERCENT=0"
  echo POOLDECK_CONTENTION_PERCENT=0 >> /etc/pooldeck/environment
  systemctl restart pooldeck-runs
  sleep 5
  compare_routes || fail "the pair of runs"
}

verdict() {
  begin "a verdict: three pairs of runs, direct and through the pool"
  compare_routes || on_a_busy_machine
  begin "a script of one's own, which runs in a sandbox"
  local pool run
  pool=$(api pools/ | jq -r '.results[0].id')
  run=$(api runs/ -d "{\"target\": {\"pool\": \"$pool\"}, \"engine\": \"pgbench\", \"confirm\": \"app\", \"options\": {\"clients\": 2,
    \"duration\": 3, \"scripts\": [{\"text\": \"SELECT count(*) FROM pgbench_branches;\", \"weight\": 1}]}}" | jq -r .id)
  expect succeeded eval "api runs/$run/ | jq -r '.status + \" \" + (.error | tostring)'"
  journalctl -u pooldeck-runs --no-pager | grep -o 'scripts of users run in .*' | tail -1
}

installed_packages() { # installed_packages RELEASE: all but the panel itself
  "/opt/pooldeck/releases/$1/bin/python" -m pip --disable-pip-version-check freeze | grep -v '^pooldeck'
}

upgrade() {
  begin "back up"
  pooldeckctl backup /var/backups/pooldeck/first
  systemctl start pooldeck-backup.service || { journalctl -u pooldeck-backup --no-pager | tail; fail "the backup of each night"; }
  ls /var/backups/pooldeck/2*/manifest.json > /dev/null
  begin "(theirs: a newer wheel)"
  sed -i 's/^version = .*/version = "0.1.1"/' pyproject.toml
  .venv/tools/bin/uv build --quiet --wheel --out-dir /root/dist "$CHECKOUT"
  begin "upgrade"
  pooldeckctl upgrade /root/dist/pooldeck-0.1.1-py3-none-any.whl
  [ "$(installed_packages 0.1.1)" = "$(installed_packages 0.1.0)" ] || fail "the upgrade brought other versions than the lock's"
  expect "0.1.1" pooldeckctl doctor
  expect "shop is applied" eval "api pools/ | jq -r '.results[] | .name + \" is \" + .state'"
}

restore() {
  begin "restore the backup of before the upgrade"
  api "pools/" | jq -r '.results[].id' > /root/pools
  systemctl stop pooldeck-beat pooldeck-tasks pooldeck-runs pooldeck-web
  local until=$((SECONDS + 60)) answer
  until answer=$(pooldeckctl restore /var/backups/pooldeck/first --yes 2>&1); do
    [ $SECONDS -lt $until ] || fail "restore: $answer"
    sleep 3 # heartbeats of what was stopped
  done
  echo "$answer"
  systemctl start pooldeck-tasks pooldeck-runs pooldeck-beat pooldeck-web
  expect restored eval "api installation/ | jq -r .paused_because"
  begin "resume it"
  api installation/resume/ -X POST > /dev/null
  expect "shop is applied" eval "api pools/ | jq -r '.results[] | .name + \" is \" + .state'"
  api "pools/" | jq -r '.results[].id' | cmp - /root/pools || fail "other pools than before"
  expect "" pooldeckctl doctor
  begin "let the PgBouncer go: its file is byte for byte what it was"
  expect watched eval "api 'poolers/$pooler/let-go/?wait=60' -X POST | jq -r .management"
  cmp /root/by-hand.ini /etc/pgbouncer/pgbouncer.ini || fail "the file differs"
}

apt-get update -qq > /dev/null
install
if [ "$1" = install ]; then
  rename
  uninstall
else
  tls
  administrator
  their_servers
  host_by_ssh
  take_over
  verdict
  upgrade
  restore
fi
