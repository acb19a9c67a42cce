#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# changes_test.sh SDK: the verdicts of sdk/abi/check on changes to driver.h, under the recorded version and the next
# one.
set -euo pipefail
sdk=$1
command -v abidiff >/dev/null || {
  echo "SKIPPED: abidiff is not here; install abigail-tools"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# judge NAME "next version: appended|changed" [SED EXPRESSION]...: checks the header without its assertions, after the
# edits.
judge() {
  local name=$1 expected=$2 include=$work/$1 said
  shift 2
  mkdir -p "$include/weir"
  cp -r "$sdk/include/weir/sdk" "$include/weir/"
  sed '/^WEIR_ABI_ASSERT/d' "$sdk/include/weir/driver.h" >"$include/weir/plain.h"
  sed "$@" "$include/weir/plain.h" >"$include/weir/driver.h"
  if cmp -s "$include/weir/plain.h" "$include/weir/driver.h"; then
    echo "$name: the header has changed and this test has not: $*" && failures=1 && return
  fi
  "${CC:-cc}" -std=c11 -g -O0 -fPIC -shared -fvisibility=hidden "-I$include" "$sdk/abi/driver_abi.c" -o "$include/abi.so"
  if "$sdk/abi/check" "$include/abi.so" "$include/weir/driver.h" >"$include/said" 2>&1 ||
    ! grep -q "A released version does not change" "$include/said"; then
    echo "$name: passes as the recorded version" && cat "$include/said" && failures=1
  fi
  sed -i 's/^\(#define WEIR_ABI_CURRENT WEIR_ABI_VERSION(1, \).*/\199)/' "$include/weir/driver.h"
  "$sdk/abi/check" "$include/abi.so" "$include/weir/driver.h" >"$include/said" 2>&1 && echo "$name: needs no record" && failures=1
  said=changed
  ! grep -q "only appends, as it should" "$include/said" || said=appended
  if [ "$said" != "$expected" ]; then
    echo "$name: counts as $said in the next minor version, expected $expected" && cat "$include/said" && failures=1
  fi
}

# The last slot has two lines.
judge slot-at-the-end appended -e '/(\*kernel_max_cooperative_blocks)/{n;a weir_result (*new_slot)(weir_graph graph, weir_status *status);' -e '}'
judge field-at-the-end appended '/uint32_t reserved; /a uint64_t more[2];'
judge enumerator appended 's/WEIR_CAP_COOPERATIVE_LAUNCH = 1u << 12 /WEIR_CAP_COOPERATIVE_LAUNCH = 1u << 12, WEIR_CAP_NEW = 1u << 13 /'
judge slot-in-the-middle changed '/(\*graph_update)/i weir_result (*new_slot)(weir_graph graph, weir_status *status);'
judge slots-that-change-places changed 's/(\*stream_flush)/(*STREAM)/; s/(\*stream_query)/(*stream_flush)/; s/(\*STREAM)/(*stream_query)/'
judge slot-that-is-gone changed '/(\*kernel_max_cooperative_blocks)/{N;d}'
judge argument-of-another-type changed '/(\*event_create)/s/uint32_t flags/uint64_t flags/'
judge field-of-another-sign changed 's/uint32_t registers; /int32_t registers; /'
judge field-that-is-wider changed 's/uint32_t local_bytes; /uint64_t local_bytes; /'
judge field-of-another-name changed 's/uint32_t dynamic_shared_bytes;/uint32_t dynamic_bytes;/'
judge field-changed-and-appended changed '/uint32_t reserved; /a uint64_t more;
s/uint32_t lanes;                  /int32_t lanes; /'
judge other-number changed 's/WEIR_NOT_READY = 1,/WEIR_NOT_READY = 15,/'
judge shorter-array changed 's/^#define WEIR_MAX_CODE_TARGETS 4/#define WEIR_MAX_CODE_TARGETS 3/'
judge struct-without-a-size-that-grows changed 's/uint32_t kind;   \/\* enum weir_parameter_kind \*\//uint32_t kind, more;/'
[ "$failures" = 0 ] && echo "every change is classified correctly"
exit $failures
