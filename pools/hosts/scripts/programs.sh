# Prints `NAME<tab>PATH<tab>VERSION` of each program that is installed. usage: programs.sh NAME...
for name in "$@"; do
    path=$(command -v "$name") || continue
    case $path in /*) ;; *) continue ;; esac
    case $name in
        pgbouncer | pgpool | haproxy | pgbench | psql | bwrap) version=$("$path" --version 2>&1 < /dev/null | head -n 1) ;;
        *) version= ;;
    esac
    printf '%s\t%s\t%s\n' "$name" "$path" "$version"
done
