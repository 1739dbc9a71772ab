#!/bin/sh
# Fetches the files of one pooler from Pooldeck, puts them in place, and has PgBouncer read them.
#
# POOLDECK_URL         the panel's address, such as https://pooldeck.example.com
# POOLDECK_POOLER      the id of the pooler
# POOLDECK_TOKEN_FILE  a file with a token of POST /api/v1/poolers/ID/files-token/, readable by this account alone
# FILES                the folder for the files: config_dir of the pooler. It belongs to PgBouncer's account, which gets the
#                      files where root runs this
# PID_FILE             PgBouncer's pidfile; empty: nothing is reloaded
# OWN_USERS            a file with lines of your own for the list of users; empty: there are none
# INTERVAL             seconds between two requests; with the argument --once there is one request alone
set -eu
POOLDECK_URL=${POOLDECK_URL-}
POOLDECK_POOLER=${POOLDECK_POOLER-}
FILES=${FILES-}
: "${POOLDECK_URL:?}" "${POOLDECK_POOLER:?}" "${POOLDECK_TOKEN_FILE:?}" "${FILES:?}"
PID_FILE=${PID_FILE-} OWN_USERS=${OWN_USERS-} INTERVAL=${INTERVAL-10}
umask 077
mkdir -p "$FILES"

fetch() {
    work=$(mktemp -d "$FILES/.fetch-XXXXXX")
    # The token goes through a file of headers: arguments of a process can be read by others.
    printf 'Authorization: Bearer %s\n' "$(cat "$POOLDECK_TOKEN_FILE")" > "$work/headers"
    if [ -s "$FILES/.etag" ]; then
        printf 'If-None-Match: %s\n' "$(cat "$FILES/.etag")" >> "$work/headers"
    fi
    status=$(curl --silent --show-error --max-time 30 --header "@$work/headers" --dump-header "$work/answer" \
        --output "$work/files.tar" --write-out '%{http_code}' \
        "$POOLDECK_URL/api/v1/poolers/$POOLDECK_POOLER/files/?as=tar") || status=000
    case $status in
        200) place || echo "the files could not be put in place: they are tried again" >&2 ;;
        304) ;;
        *) echo "the panel answered $status: the files stay as they are" >&2 ;;
    esac
    rm -rf "$work"
}

# Puts each file in place by a rename, those that others name first, and notes the ETag last: an interruption before
# that has everything fetched again.
place() {
    mkdir "$work/new" && tar -x -f "$work/files.tar" -C "$work/new" || return 1
    if [ -n "$OWN_USERS" ]; then
        cat "$OWN_USERS" "$work/new/pooldeck_userlist.txt" > "$work/users" || return 1
        mv "$work/users" "$work/new/pooldeck_userlist.txt" || return 1
    fi
    if [ "$(id -u)" = 0 ]; then
        chown "$(stat -c %u:%g "$FILES")" "$work"/new/* || return 1
    fi
    sync
    for file in "$work"/new/*; do
        case ${file##*/} in pooldeck.ini | pooldeck_settings.ini) continue ;; esac
        mv -f "$file" "$FILES/" || return 1
    done
    for name in pooldeck_settings.ini pooldeck.ini; do
        if [ -e "$work/new/$name" ]; then mv -f "$work/new/$name" "$FILES/$name" || return 1; fi
    done
    if [ -n "$PID_FILE" ] && [ -s "$PID_FILE" ]; then
        kill -HUP "$(cat "$PID_FILE")" || return 1
    fi
    sed -n 's/^[Ee][Tt][Aa][Gg]: *\("[^"]*"\).*/\1/p' "$work/answer" > "$work/etag" || return 1
    mv -f "$work/etag" "$FILES/.etag"
}

fetch
while [ "${1-}" != --once ]; do
    sleep "$INTERVAL"
    fetch
done
