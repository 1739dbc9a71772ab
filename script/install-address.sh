# Under which name and port the panel is reached: what the words say, else what an earlier installation wrote.
# shellcheck shell=bash

host_of_settings() { setting POOLDECK_PUBLIC_URL | sed -n 's|^https\?://\([^/:]*\).*|\1|p'; }

choose_address() {
  [ -n "$HOST" ] || HOST=$(host_of_settings)
  [ -n "$HOST" ] || HOST=$(hostname -f 2> /dev/null || hostname)
  [ -n "$PORT" ] || PORT=$(setting POOLDECK_WEB_PORT)
  [ -n "$PORT" ] || PORT=8000
}

# Puts a word of a list in place of another, or at its end; what else the list has is the operator's.
replaced() { # replaced LIST OLD NEW: words with commas between them
  local word listed words=() found=
  IFS=, read -ra listed <<< "$1"
  for word in "${listed[@]}"; do
    word=${word// /}
    case $word in "$2" | "$3") [ -z "$found" ] || continue; word=$3 found=yes ;; esac
    words+=("$word")
  done
  [ -n "$found" ] || words+=("$3")
  (IFS=,; printf '%s' "${words[*]}")
}

set_setting() { # set_setting NAME VALUE: in the line that names it
  local file=$SETTINGS/environment line text=
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in "$1="*) line=$1=$2 ;; esac
    text+=$line$'\n'
  done < "$file"
  put "$file" 0640 "root:$ACCOUNT" < <(printf '%s' "$text") > /dev/null
}

# A repetition with another name or port changes the lines of settings that name them, and nothing else in these.
change_address() {
  [ -f "$SETTINGS/environment" ] || return 0
  local old port list
  old=$(host_of_settings) port=$(setting POOLDECK_WEB_PORT)
  if [ -n "$old" ] && [ "$old" != "$HOST" ]; then
    list=$(setting POOLDECK_ALLOWED_HOSTS)
    set_setting POOLDECK_ALLOWED_HOSTS "$(replaced "$list" "$old" "$HOST")"
    list=$(setting POOLDECK_TRUSTED_ORIGINS)
    set_setting POOLDECK_TRUSTED_ORIGINS "$(replaced "$list" "https://$old" "https://$HOST")"
    list=$(setting POOLDECK_PUBLIC_URL)
    set_setting POOLDECK_PUBLIC_URL "${list/"//$old"/"//$HOST"}"
    report changed "the panel's name: $HOST, not $old any longer. Copy the proxy's example again, and have a certificate for it"
  fi
  if [ -n "$port" ] && [ "$port" != "$PORT" ]; then
    set_setting POOLDECK_WEB_PORT "$PORT"
    report changed "the panel's port: $PORT, not $port any longer. Copy the proxy's example again"
  fi
}
