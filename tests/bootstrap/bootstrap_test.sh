#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bootstrap_test.sh BOOTSTRAP CASE: runs a copy of bootstrap in its own folder, with mocks for the commands that inspect
# or change the machine. Each mock records its call; files in the folder define its output:
#   installed   packages that dpkg-query reports as installed      root        whether `id` reports root
#   available   packages that apt-cache finds
set -eu
bootstrap=$1 case=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$bootstrap" "$place/bootstrap"
mkdir -p "$place/bin" "$place/etc"
export PLACE=$place

stand_in() {
  { echo '#!/bin/bash'; echo 'echo "${0##*/} $*" >>"$PLACE/calls"'; cat; } >"$place/bin/$1"
  chmod +x "$place/bin/$1"
}
stand_in id <<<'[ -e "$PLACE/root" ] && echo 0 || echo 1000'
stand_in nproc <<<'echo 2'
stand_in dpkg-query <<<'grep -qsx "${!#}" "$PLACE/installed" && echo -n installed'
stand_in apt-cache <<<'grep -qsx "$2" "$PLACE/available" && echo "$2 | 1 |"; exit 0'
stand_in ctest <<<''
stand_in apt-get <<'END'
case "$*" in
  *indextargets*) echo http://mirror.example/debian/ ;;
  *update*) [ ! -e "$PLACE/list" ] || [ ! -e "$PLACE/suite_exists" ] || echo llvm-22-dev >>"$PLACE/available" ;;
esac
END
stand_in tee <<<'cat >"$PLACE/list"; cp "$PLACE/list" "$PLACE/list_written"'
stand_in rm <<<'[ "$2" = /etc/apt/sources.list.d/weir-security.list ] && /bin/rm -f "$PLACE/list" || /bin/rm "$@"'
stand_in cmake <<'END'
echo "configured with ${CXX:-}" >>"$PLACE/calls"
mkdir -p build/release/bin
printf '#!/bin/bash\necho "weir $*" >>"$PLACE/calls"\n' >build/release/bin/weir
chmod +x build/release/bin/weir
END

run() {
  status=0
  (cd / && PATH=$place/bin:/usr/bin:/bin "$place/bootstrap" "$@") >"$place/out" 2>"$place/err" </dev/null || status=$?
}
fail() {
  echo "failed: $*"
  for file in calls out err; do echo "--- $file"; cat "$place/$file" 2>/dev/null || true; done
  exit 1
}
called() { grep -q -- "$1" "$place/calls" || fail "expected the call: $1"; }
not_called() { ! grep -q -- "$1" "$place/calls" || fail "unexpected call: $1"; }
said() { grep -q -- "$1" "$place/out" "$place/err" || fail "expected the words: $1"; }
succeeded() { [ "$status" = 0 ] || fail "status $status"; }
failed() { [ "$status" != 0 ] || fail "it succeeded"; }

everything_installed() {
  sed -n '/^[a-z_]*packages=(/,/^)/p' "$bootstrap" | grep -v '[()]' | tr -s ' ' '\n' | grep . >"$place/installed"
}

case $case in
  usage)
    run
    failed
    said './bootstrap run'
    said './bootstrap test'
    ;;
  help)
    run --help
    succeeded
    said './bootstrap run'
    [ ! -s "$place/err" ] || fail "help belongs to standard output"
    ;;
  run_installs_nothing_twice)
    everything_installed
    run run
    succeeded
    not_called apt-get
    called 'weir demo river --out out'
    ;;
  run_passes_options_on)
    everything_installed
    run run --steps 7
    succeeded
    called 'weir demo river --out out --steps 7'
    ;;
  test_runs_every_test)
    everything_installed
    run test
    succeeded
    called 'ctest --preset release'
    not_called apt-get
    not_called 'weir demo'
    ;;
  run_installs_both_compilers)
    everything_installed
    sed -i '/^clang-22$/d; /^g++$/d' "$place/installed"
    touch "$place/root"
    echo llvm-22-dev >"$place/available"
    run run
    succeeded
    called 'apt-get .* install -y .* clang-22 g++$'
    called 'configured with clang++-22'
    ;;
  names_packages_without_root)
    everything_installed
    sed -i '/^cmake$/d; /^libtbb-dev$/d' "$place/installed"
    stand_in sudo <<<'exit 1'
    run run
    failed
    said 'As root run: apt-get install --no-install-recommends cmake libtbb-dev$'
    [ "$(wc -l <"$place/err")" = 1 ] || fail "more than one line"
    not_called apt-get
    ;;
  names_the_suite_without_root)
    stand_in sudo <<<'exit 1'
    run run
    failed
    said 'As root run: apt-get install .* llvm-22-dev .* (LLVM 22 is in .* bookworm-security: .*)$'
    said '"deb http://security.debian.org/debian-security bookworm-security main" into /etc/apt/sources.list.d/security.list'
    [ "$(wc -l <"$place/err")" = 1 ] || fail "more than one line"
    echo llvm-22-dev >"$place/available"
    run run
    failed
    ! grep -q security "$place/err" || fail "it names a suite that is there"
    ;;
  uses_sudo)
    stand_in sudo <<<'shift; [ "$1" = true ] || "$@"'
    echo llvm-22-dev >"$place/available"
    run run
    succeeded
    called 'sudo -n env DEBIAN_FRONTEND=noninteractive apt-get'
    called 'apt-get .* install -y .* llvm-22-dev'
    ;;
  adds_the_security_suite)
    touch "$place/root" "$place/suite_exists"
    run run
    succeeded
    [ "$(cat "$place/list_written")" = 'deb http://mirror.example/debian-security bookworm-security main' ] ||
      fail "wrong sources: $(cat "$place/list_written")"
    called 'apt-get .* install -y'
    ;;
  says_which_suite_is_missing)
    touch "$place/root"
    run run
    failed
    said 'the package llvm-22-dev is not available'
    said 'deb http://security.debian.org/debian-security bookworm-security main'
    [ ! -e "$place/list" ] || fail "its sources file was not removed"
    not_called 'install -y'
    ;;
  works_without_a_package_manager)
    # A PATH without dpkg-query, as on other systems.
    rm "$place/bin/dpkg-query"
    for command in bash dirname sed cat grep; do ln -s "$(command -v "$command")" "$place/bin/$command" 2>/dev/null || true; done
    status=0
    PATH=$place/bin "$place/bootstrap" run >"$place/out" 2>"$place/err" || status=$?
    failed
    said 'this is not a Debian system'
    said 'llvm-22-dev'
    ;;
  *) fail "no such case" ;;
esac
