# The checks without pytest that script/test runs on all of the tree, and script/check on what changed.

# Which of these paths, one a line, match a pattern, or do not.
only() { grep -E "$1" || true; }
without() { grep -vE "$1" || true; }

# Modules, and folders that may hold some.
python_among() {
  printf '%s\n' "$@" | only '\.py$|(^|/)[^./]+$' | without '^(script|docker|docs|static|templates|\.ci)(/|$)'
}
# What mypy has rules for (pyproject.toml): the apps without migrations, and what writes the documentation's reference.
typed_among() {
  { python_among "$@"; printf '%s\n' "$@" | only '^docs/_ext(/|/.*\.py|/[^.]+)?$'; } \
    | only '^(core|panel|pools|benchmarks|docs/_ext)(/|$)' | without '/migrations/'
}

# djangofmt has no mode that only checks.
templates_formatted() {
  local copy
  copy=$(mktemp -d)
  cp -r templates "$copy"
  djangofmt -q --line-length 120 "$copy/templates" && diff -r templates "$copy/templates"
  local differ=$?
  rm -r "$copy"
  return $differ
}

biome_ci() { (cd "$ROOT/static" && node_modules/.bin/biome ci); }

lint_templates() { step "djangofmt" "run: djangofmt --line-length 120 templates" templates_formatted; }

lint_pages() {
  step "biome ci" "run: npx biome check --write, in static" biome_ci
  step "node --test" "fix what it names" node --test static/tests/
}

check_ruff() { # check_ruff PATH...
  step "ruff check" "fix what it names; ruff check --fix does a part of it" ruff check --force-exclude "$@"
  step "ruff format --check" "run: ruff format ." ruff format --check --force-exclude "$@"
}

check_types() { # check_types [PATH...]
  # As a module: it then takes `tests` from the checkout, and not from a package that installs its own.
  step "mypy" "fix the types it names" python -m mypy "$@"
}

check_imports() { step "lint-imports" "see the import direction in CONTRIBUTING.md" lint-imports --no-logo; }
