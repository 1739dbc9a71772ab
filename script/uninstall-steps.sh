# script/install --uninstall: services and releases go; data, keys, settings and backups stay unless --purge is given.
# shellcheck shell=bash

uninstall() {
  local url
  url=$(setting DATABASE_URL)
  # they are not there where this is repeated
  systemctl disable --quiet --now pooldeck.target pooldeck-backup.timer "${SERVICES[@]}" 2> /dev/null || true
  local path
  while read -r path; do
    rm -f "$UNITS/$path"
    # a folder with an operator's own drop-ins stays
    [ "$(dirname "$path")" = . ] || rmdir --ignore-fail-on-non-empty "$UNITS/$(dirname "$path")" 2> /dev/null || true
  done < <(unit_files)
  systemctl daemon-reload
  report changed "services"
  rm -rf "$PREFIX" "$COMMAND" "$CLIENT"
  report changed "releases"
  if [ -z "$PURGE" ]; then
    printf '\nKept: %s (settings and keys), %s, %s, the metadata database and the account %s.\n' \
      "$SETTINGS" "$STATE" "$BACKUPS" "$ACCOUNT"
    printf 'script/install brings the panel back with them; script/install --uninstall --purge removes them.\n'
    return
  fi
  purge_database "$url"
  rm -rf "$SETTINGS" "$STATE" "$BACKUPS"
  ! getent passwd "$ACCOUNT" > /dev/null || userdel "$ACCOUNT"
  report changed "settings, keys, state, backups and the account"
}

# Only what script/install made: a database that the operator named stays.
purge_database() { # purge_database URL
  is_ours "$1" || {
    printf 'kept     the metadata database: script/install did not make it\n'
    return 0
  }
  as_postgres "${BASH_REMATCH[2]}" "DROP DATABASE IF EXISTS $DATABASE;" "DROP ROLE IF EXISTS $ROLE;" ||
    fail 1 "the metadata database was not dropped" "drop it by hand, then run this again"
  report changed "metadata database $DATABASE and role $ROLE: dropped"
}
