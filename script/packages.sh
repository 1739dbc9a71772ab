# Reading the lists of Debian packages (docker/packages*.txt).

listed_packages() { # listed_packages FILE...
  sed -e 's/#.*//' -e '/^[[:space:]]*$/d' -e 's/[[:space:]]*$//' "$@"
}

missing_packages() { # missing_packages FILE...
  local installed
  # dpkg-query fails where one of them is unknown to it; what it printed of the others counts
  # shellcheck disable=SC2046
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $(listed_packages "$@") 2> /dev/null || true)
  comm -23 <(listed_packages "$@" | sort -u) <(sed -n 's/ installed$//p' <<< "$installed" | sort -u)
}
