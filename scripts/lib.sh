# Shared by quickstart and run-tests; to be sourced by bash. All messages go to stderr.

say() { printf '%s\n' "== $*" >&2; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# Debian 12's names. Boost.JSON is there in two versions; 1.81 is the one with the newer parser options.
BUILD_PACKAGES=(g++ cmake ninja-build ccache libexpected-dev libboost1.81-dev libboost-json1.81-dev libedit-dev libpcre2-dev
  libicu-dev libxxhash-dev libjs-chart.js python3 python3-venv ca-certificates)
TEST_PACKAGES=(libgtest-dev libbenchmark-dev clang-14 libclang-rt-14-dev clang-format-14 binutils
  chromium)

# install_packages NAME...: installs those that are missing, with sudo unless root. Removes nothing.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian system: going on with what is installed (needed: $*)"
    return
  fi
  local name missing=() run=()
  for name in "$@"; do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing packages: ${missing[*]}; as root, run: apt-get install ${missing[*]}"
    run=(sudo)
  fi
  run+=(env DEBIAN_FRONTEND=noninteractive apt-get)
  say "installing ${missing[*]}"
  "${run[@]}" -qq update >&2 || die "apt-get update failed"
  "${run[@]}" -qq install -y --no-install-recommends --no-remove "${missing[@]}" >&2 ||
    die "apt-get could not install: ${missing[*]}"
}
