# Prints `NAME<tab>PATH<tab>VERSION` of each program that is installed. usage: programs.sh NAME...
in_path() { # busybox's shell gives an applet's name in place of its path
    IFS=:
    for folder in $PATH; do
        [ -f "$folder/$1" ] && [ -x "$folder/$1" ] || continue
        echo "$folder/$1"
        return
    done
    return 1
}

for name in "$@"; do
    path=$(command -v "$name") || continue
    case $path in /*) ;; *) path=$(in_path "$name") || continue ;; esac
    case $name in
        pgbouncer | pgpool | haproxy | pgbench | psql | bwrap) version=$("$path" --version 2>&1 < /dev/null | head -n 1) ;;
        *) version= ;;
    esac
    printf '%s\t%s\t%s\n' "$name" "$path" "$version"
done
