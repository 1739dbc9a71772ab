# The steps of script/install. Each can be repeated, and reports whether it had anything to do.
# shellcheck shell=bash

DEPLOY=$ROOT/deploy/debian
ACCOUNT=pooldeck
PREFIX=/opt/pooldeck SETTINGS=/etc/pooldeck STATE=/var/lib/pooldeck BACKUPS=/var/backups/pooldeck
UNITS=/etc/systemd/system
COMMAND=/usr/local/bin/pooldeckctl
CLIENT=/usr/local/bin/pooldeck
SERVICES=(pooldeck-redis pooldeck-tasks pooldeck-runs pooldeck-beat pooldeck-web)
READY_WITHIN_S=${POOLDECK_READY_WITHIN_S:-120}

report() { # report ok|changed WHAT
  printf '%-8s %s\n' "$1" "$2"
}

# The words of a program matter only when it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
}

check_words() {
  [[ $HOST =~ ^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$ ]] ||
    fail 2 "--host $HOST is no host name" "name the panel as browsers will, such as panel.example.org"
  [[ $PORT =~ ^[0-9]+$ ]] && [ "$PORT" -ge 1 ] && [ "$PORT" -le 65535 ] ||
    fail 2 "--port $PORT is no port" "use 1 to 65535"
  [ -z "$WHEEL" ] || [ -f "$WHEEL" ] || fail 2 "there is no wheel $WHEEL" "build one: uv build --wheel"
}

is_listened_on() { (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

is_new_port() { [ ! -e "$UNITS/pooldeck-web.service" ] || [ "$PORT" != "$(setting POOLDECK_WEB_PORT)" ]; }

check_system() {
  local system
  system=$(. /etc/os-release && printf '%s %s' "$ID" "${VERSION_ID-}")
  case $system in
    "debian 12" | "debian 13" | "ubuntu 24.04") ;;
    *) fail 2 "this is $system; tried are Debian 12, Debian 13 and Ubuntu 24.04" \
      "use one of them, or run the processes by hand: README.md, On several machines" ;;
  esac
  ! { is_new_port && is_listened_on "$PORT"; } ||
    fail 2 "port $PORT of 127.0.0.1 is taken by another program" "choose another: script/install --port N"
  [ -d /run/systemd/system ] || fail 2 "systemd does not run here" \
    "in a container, use docker/compose.yaml instead"
  report ok "system: $system"
}

install_packages() {
  local with=$DEPLOY/packages.txt without=$DEPLOY/packages-without-services.txt missing off
  mapfile -t missing < <(missing_packages "$with")
  mapfile -t off < <(missing_packages "$without")
  if [ ${#missing[@]} -eq 0 ] && [ ${#off[@]} -eq 0 ]; then
    report ok "packages"
    return
  fi
  # first those whose services stay off: nothing else may then bring them as its dependency
  [ ${#off[@]} -eq 0 ] || "$ROOT/script/install-packages" "$without" ||
    fail 1 "apt can't install ${off[*]}" "its own message is above"
  if [ ${#missing[@]} -gt 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-get update -qq && quietly apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
      fail 1 "apt can't install ${missing[*]}" "its own message is above"
  fi
  report changed "packages: ${off[*]} ${missing[*]}"
}

make_account() {
  if getent passwd "$ACCOUNT" > /dev/null; then
    report ok "account $ACCOUNT"
    return
  fi
  useradd --system --user-group --home-dir "$STATE" --no-create-home --shell /usr/sbin/nologin "$ACCOUNT"
  report changed "account $ACCOUNT"
}

# Gives a file or folder its mode and owner; succeeds where it had another before.
own() { # own PATH MODE OWNER:GROUP
  [ "$(stat -c '%a %U:%G' "$1")" != "${2#0} $3" ] || return 1
  chown "$3" "$1"
  chmod "$2" "$1"
}

make_folder() { # make_folder PATH MODE OWNER:GROUP
  local is_new=
  [ -d "$1" ] || { mkdir -p "$1"; is_new=yes; }
  if own "$1" "$2" "$3" || [ -n "$is_new" ]; then report changed "folder $1"; else report ok "folder $1"; fi
}

make_folders() {
  make_folder "$PREFIX" 0755 root:root
  make_folder "$PREFIX/releases" 0755 root:root
  make_folder "$SETTINGS" 0750 "root:$ACCOUNT"
  make_folder "$STATE" 0750 "$ACCOUNT:$ACCOUNT"
  make_folder "$BACKUPS" 0700 "$ACCOUNT:$ACCOUNT"
}

# Reads a text from standard input and puts it into a file, in one step, unless it is there already.
put() { # put PATH MODE OWNER:GROUP
  local fresh
  fresh=$(mktemp "$1.XXXXXX")
  cat > "$fresh"
  [ -s "$fresh" ] || { rm "$fresh"; fail 1 "nothing to put into $1" "its own message is above"; }
  if [ -f "$1" ] && cmp -s "$fresh" "$1"; then
    rm "$fresh"
    own "$1" "$2" "$3" || { report ok "$1"; return 0; }
    report changed "$1"
    return 0
  fi
  own "$fresh" "$2" "$3" || true
  mv "$fresh" "$1"
  report changed "$1"
  PUT+=("$1")
}
PUT=() NEEDS_RESTART=0

version_of_wheel() { # pooldeck-0.1.0-py3-none-any.whl
  basename "$1" | cut -d - -f 2
}

build_wheel() {
  need_tools
  need_browser_packages
  quietly "$ROOT/script/docs" || fail 1 "the documentation could not be built" "its own message is above"
  step "building the wheel" "see its message above" "$TOOLS/bin/uv" build --quiet --wheel --out-dir "$1" "$ROOT"
  WHEEL=$(echo "$1"/pooldeck-*.whl)
}

# With the versions and hashes that the wheel holds: those of uv.lock as it was built (hatch_build.py).
install_wheel() { # install_wheel RELEASE_FOLDER WORK_FOLDER
  local pip=("$1/bin/python" -m pip --disable-pip-version-check --no-input install --quiet)
  "$(find_python)" -m venv "$1"
  "$1/bin/python" -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
    "$WHEEL" panel/share/requirements.txt > "$2/requirements.txt"
  "${pip[@]}" --require-hashes -r "$2/requirements.txt"
  "${pip[@]}" --no-deps "$WHEEL"
  # written last, so that a release whose installation was ended is told from a whole one; pooldeckctl upgrade does so too
  touch "$1/.complete"
}

install_release() {
  local work version
  if [ -e "$PREFIX/current/.complete" ]; then
    version=$(basename "$(realpath "$PREFIX/current")")
    [ -z "$WHEEL" ] || [ "$(version_of_wheel "$WHEEL")" = "$version" ] ||
      fail 2 "release $version is installed, and --wheel $WHEEL is another" "upgrade to it: pooldeckctl upgrade $WHEEL"
    report ok "release $version"
    return
  fi
  work=$(mktemp -d)
  [ -n "$WHEEL" ] || build_wheel "$work"
  version=$(version_of_wheel "$WHEEL")
  rm -rf "$PREFIX/releases/$version"
  step "installing release $version" "is the package index reachable? (pip's settings apply)" \
    install_wheel "$PREFIX/releases/$version" "$work"
  ln -sfn "releases/$version" "$PREFIX/current"
  rm -r "$work"
  report changed "release $version"
}

# Keys that are there stay: without them no stored password can be read.
make_secret() { # make_secret NAME PYTHON
  local path=$SETTINGS/$1 secret
  if [ ! -s "$path" ]; then
    secret=$("$PREFIX/current/bin/python" -c "$2")
    put "$path" 0600 "$ACCOUNT:$ACCOUNT" <<< "$secret"
  elif own "$path" 0600 "$ACCOUNT:$ACCOUNT"; then
    report changed "$path: its mode"
  else
    report ok "$path"
  fi
}

make_secrets() {
  make_secret secret_key 'import secrets; print(secrets.token_urlsafe(48))'
  make_secret keys 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'
}

setting() { # setting NAME: its value in the file without quotes around it, empty where it has none
  [ ! -f "$SETTINGS/environment" ] ||
    sed -n "s/^$1=//p" "$SETTINGS/environment" | tail -1 | sed -e 's/^"\(.*\)"$/\1/' -e "s/^'\(.*\)'\$/\1/"
}

# Adds what the file does not name. What it names is the operator's, whatever it says.
write_settings() {
  local wanted=(
    "POOLDECK_HOME=$STATE"
    "POOLDECK_SECRETS_FOLDER=$SETTINGS"
    "DATABASE_URL=$DATABASE_URL"
    "REDIS_URL=unix:///run/pooldeck-redis/redis.sock"
    "POOLDECK_ALLOWED_HOSTS=$HOST,localhost,127.0.0.1"
    "POOLDECK_TRUSTED_ORIGINS=https://$HOST"
    "POOLDECK_TRUSTED_PROXIES=127.0.0.1,::1"
    "POOLDECK_PUBLIC_URL=https://$HOST"
    "POOLDECK_HTTPS=true"
    "POOLDECK_WEB_PORT=$PORT"
  )
  local file=$SETTINGS/environment line text
  text=$(cat "$file" 2> /dev/null) ||
    text="# Settings of the panel; README.md lists them all. Then: systemctl restart pooldeck.target"
  for line in "${wanted[@]}"; do
    grep -q "^${line%%=*}=" <<< "$text" || text+=$'\n'$line
  done
  put "$file" 0640 "root:$ACCOUNT" <<< "$text"
}

unit_files() { (cd "$DEPLOY/systemd" && find . -type f -printf '%P\n' | sort); }

write_units() {
  put "$SETTINGS/redis.conf" 0640 "root:$ACCOUNT" < "$DEPLOY/redis.conf"
  put "$COMMAND" 0755 root:root < "$DEPLOY/pooldeckctl"
  put "$CLIENT" 0755 root:root < "$DEPLOY/pooldeck"
  local path
  while read -r path; do
    mkdir -p "$(dirname "$UNITS/$path")"
    put "$UNITS/$path" 0644 root:root < "$DEPLOY/systemd/$path"
  done < <(unit_files)
  systemctl daemon-reload
  # settings, units and Redis's configuration are read at a start
  NEEDS_RESTART=${#PUT[@]}
}

# For the operator to copy; no proxy is installed or changed.
write_examples() {
  local name port
  port=$(setting POOLDECK_WEB_PORT)
  mkdir -p "$SETTINGS/examples"
  for name in nginx.conf Caddyfile; do
    put "$SETTINGS/examples/$name" 0644 root:root \
      < <(sed -e "s/POOLDECK_HOST/$HOST/" -e "s/POOLDECK_PORT/$port/" "$DEPLOY/$name")
  done
}

migrate_and_collect() {
  if "$COMMAND" migrate --check > /dev/null 2>&1; then
    report ok "schema of the metadata database"
  else
    quietly "$COMMAND" migrate --noinput || fail 1 "the metadata database could not be migrated" "its message is above"
    report changed "schema of the metadata database"
  fi
  if [ -s "$STATE/static/staticfiles.json" ]; then
    report ok "static files"
  else
    quietly "$COMMAND" collectstatic --noinput --verbosity=0 ||
      fail 1 "the static files could not be collected" "its message is above"
    report changed "static files"
  fi
}

# Switched on once, with the target: a timer that the operator turned off stays off.
start_backups() {
  local timer=pooldeck-backup.timer
  if [ -z "$BACKED_UP" ] && systemctl is-enabled --quiet "$timer"; then
    quietly systemctl disable --now "$timer"
    report changed "backups each night: off"
  elif [ -n "$BACKED_UP" ] && ! systemctl is-enabled --quiet pooldeck.target; then
    quietly systemctl enable --now "$timer"
    report changed "backups each night, into $BACKUPS"
  elif systemctl is-enabled --quiet "$timer"; then
    report ok "backups each night, into $BACKUPS"
  else
    report ok "backups each night: off (systemctl enable --now $timer)"
  fi
}

start_services() {
  local before after
  before=$(systemctl is-active "${SERVICES[@]}" pooldeck.target || true)
  quietly systemctl enable "${SERVICES[@]}" pooldeck.target
  if [ "$NEEDS_RESTART" -gt 0 ]; then
    systemctl restart pooldeck.target "${SERVICES[@]}"
  else
    systemctl start pooldeck.target "${SERVICES[@]}"
  fi
  wait_until_ready
  after=$(systemctl is-active "${SERVICES[@]}" pooldeck.target || true)
  if [ "$NEEDS_RESTART" -gt 0 ] || [ "$before" != "$after" ]; then
    report changed "services"
  else
    report ok "services"
  fi
}

wait_until_ready() {
  local url deadline=$((SECONDS + READY_WITHIN_S)) answer
  url=http://127.0.0.1:$(setting POOLDECK_WEB_PORT)/healthz/ready
  until answer=$(curl -sS --max-time 5 "$url" 2>&1) && [[ $answer == *'"status": "ready"'* ]]; do
    [ $SECONDS -lt $deadline ] || fail 1 "the panel is not ready after $READY_WITHIN_S s: $answer" \
      "see journalctl -u 'pooldeck-*', and pooldeckctl doctor"
    sleep 1
  done
}

say_what_is_next() {
  "$COMMAND" doctor || fail 1 "the doctor found something" "do what it says, then run this again"
  local link
  if link=$("$COMMAND" admin-link 2> /dev/null); then
    printf '\nPut a proxy with TLS in front (examples: %s), then open this link within an hour.\n' "$SETTINGS/examples"
    printf 'It works once, for the first administrator; pooldeckctl admin-link makes another:\n%s\n' "$link"
  fi
}
