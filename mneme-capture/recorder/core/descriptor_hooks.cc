// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that close descriptors, as the application finds them first: the recorder's own are none of its
// business, and stay open when it closes all there are, as daemons do.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/link/kept_descriptor.h"
#include "recorder/runtime/next.h"

namespace mneme::record {
namespace {

constexpr char kLibrary[] = "libc.so.6";

constinit Next<int(int)> next_close(kLibrary, "close");
constinit Next<int(unsigned, unsigned, int)> next_close_range(kLibrary, "close_range");
constinit Next<void(int)> next_closefrom(kLibrary, "closefrom");
constinit Next<int(int, int)> next_dup2(kLibrary, "dup2");
constinit Next<int(int, int, int)> next_dup3(kLibrary, "dup3");

// Early, since dlsym is nothing for the handler of a signal.
[[gnu::constructor]] void find_them() {
  (void)(next_close && next_close_range && next_closefrom && next_dup2 && next_dup3);
}

int nothing_to_call() {
  errno = ENOSYS;
  return -1;
}

// What would be said of a number that is not open.
int not_open() {
  errno = EBADF;
  return -1;
}

int close_but_ours(unsigned first, unsigned last, int flags) {
  for (;;) {
    int ours = kept::next_from(first);
    bool within = ours >= 0 && static_cast<unsigned>(ours) <= last;
    unsigned end = within ? static_cast<unsigned>(ours) - 1 : last;
    if (!within || first < static_cast<unsigned>(ours)) {
      int status = next_close_range ? next_close_range(first, end, flags) : nothing_to_call();
      if (status != 0) return status;
    }
    if (!within || static_cast<unsigned>(ours) == last) return 0;
    first = static_cast<unsigned>(ours) + 1;
  }
}

// On systems whose kernel lacks close_range.
void close_one_by_one(int first) {
  for (int ours = kept::next_from(static_cast<unsigned>(first)); ours >= 0;
       ours = kept::next_from(static_cast<unsigned>(first))) {
    for (; first < ours; ++first) next_close(first);
    ++first;
  }
  next_closefrom(first);
}

}  // namespace
}  // namespace mneme::record

#pragma GCC visibility push(default)
extern "C" {

int close(int number) {
  using namespace mneme::record;
  if (kept::is(number)) return not_open();
  return next_close ? next_close(number) : nothing_to_call();
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
  using namespace mneme::record;
  if (flags & ~CLOSE_RANGE_UNSHARE || first > last) {  // ours are closed by exec anyway
    return next_close_range ? next_close_range(first, last, flags) : nothing_to_call();
  }
  return close_but_ours(first, last, flags);
}

void closefrom(int first) noexcept {
  using namespace mneme::record;
  if (first < 0) first = 0;
  if (close_but_ours(static_cast<unsigned>(first), ~0u, 0) != 0) close_one_by_one(first);
}

int dup2(int from, int to) noexcept {
  using namespace mneme::record;
  if (kept::is(from)) return not_open();
  if (kept::is(to) && ::fcntl(from, F_GETFD) >= 0) kept::move_away(to);
  return next_dup2 ? next_dup2(from, to) : nothing_to_call();
}

int dup3(int from, int to, int flags) noexcept {
  using namespace mneme::record;
  if (kept::is(from)) return not_open();
  if (kept::is(to) && ::fcntl(from, F_GETFD) >= 0) kept::move_away(to);
  return next_dup3 ? next_dup3(from, to, flags) : nothing_to_call();
}

}  // extern "C"
#pragma GCC visibility pop
