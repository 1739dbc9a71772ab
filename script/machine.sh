# A machine of its own to try an installation on: a debootstrap folder that systemd-nspawn boots, in a network of its own.
# shellcheck shell=bash
# It reaches package mirrors and indexes through slirp4netns, so that no port of this host is taken and none is open.

MACHINE_PACKAGES=systemd,systemd-sysv,dbus,ca-certificates,git,python3

machine_needs() {
  local missing=() program
  for program in debootstrap systemd-nspawn slirp4netns nsenter ip; do
    command -v "$program" > /dev/null || missing+=("$program")
  done
  [ "$(id -u)" = 0 ] || { echo "root makes machines"; return 1; }
  [ ${#missing[@]} -eq 0 ] || {
    echo "missing: ${missing[*]} (apt-get install debootstrap systemd-container slirp4netns util-linux iproute2)"
    return 1
  }
}

machine_make() { # machine_make SUITE FOLDER
  [ ! -e "$2/etc/os-release" ] || return 0
  local mirror words=()
  if [ "$1" = noble ]; then
    # a Debian host may have neither Ubuntu's keys nor its newer names
    mirror=http://archive.ubuntu.com/ubuntu
    words=("--components=main,universe" --no-check-gpg)
    debootstrap "${words[@]}" --variant=minbase --include="$MACHINE_PACKAGES" "$1" "$2" "$mirror" \
      /usr/share/debootstrap/scripts/gutsy
    return
  fi
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null | grep -v security | head -1)
  debootstrap --variant=minbase --include="$MACHINE_PACKAGES" "$1" "$2" ${mirror:+"$mirror"}
}

# The authorities that this host trusts, for indexes behind a proxy of the network's own.
machine_trust() { # machine_trust FOLDER
  cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/host-authorities.pem"
}

machine_boot() { # machine_boot FOLDER NAME: sets MACHINE to the pid of its systemd
  local deadline=$((SECONDS + 300)) nspawn  # a busy machine takes minutes where a quiet one takes 15 s
  MACHINE_NAME=$2
  ip netns add "$2"
  ip -n "$2" link set lo up
  slirp4netns --configure --netns-type=path --ready-fd=3 "/run/netns/$2" tap0 > /dev/null 2>&1 3> /dev/null &
  MACHINE_NETWORK=$!
  machine_trust "$1"
  rm -f "$1/etc/resolv.conf"
  echo "nameserver 10.0.2.3" > "$1/etc/resolv.conf"
  systemd-nspawn --quiet --directory="$1" --machine="$2" --hostname="$2" --register=no --keep-unit --boot \
    --resolv-conf=off --timezone=off --console=pipe --network-namespace-path="/run/netns/$2" \
    < /dev/null > "$1.console" 2>&1 &
  nspawn=$!
  until MACHINE=$(pgrep -P "$nspawn" | head -1) && [ -n "$MACHINE" ] && machine_is_up; do
    [ $SECONDS -lt $deadline ] && kill -0 "$nspawn" 2> /dev/null ||
      { echo "the machine does not boot:"; tail -20 "$1.console"; return 1; }
    sleep 0.5
  done
}

machine_is_up() {
  [[ $(in_machine systemctl is-system-running 2> /dev/null) =~ ^(running|degraded)$ ]]
}

in_machine() { # in_machine COMMAND...
  local authorities=/etc/ssl/host-authorities.pem
  nsenter --target "$MACHINE" --mount --uts --ipc --net --pid --root --wd -- /usr/bin/env -i \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
    SSL_CERT_FILE=$authorities PIP_CERT=$authorities npm_config_cafile=$authorities "$@"
}

machine_stop() {
  [ -n "${MACHINE-}" ] || return 0
  kill -s RTMIN+4 "$MACHINE" 2> /dev/null || true # systemd: power off
  local deadline=$((SECONDS + 60))
  while kill -0 "$MACHINE" 2> /dev/null; do
    [ $SECONDS -lt $deadline ] || kill -KILL "$MACHINE"
    sleep 0.5
  done
  kill "$MACHINE_NETWORK" 2> /dev/null || true
  ip netns delete "$MACHINE_NAME"
  MACHINE=
}
