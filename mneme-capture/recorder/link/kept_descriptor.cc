// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/kept_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <mutex>
#include <unordered_set>

namespace mneme::record {
namespace {

constexpr int kHighDescriptor = 1000;
constexpr unsigned kWords = 1024;  // of 64 numbers each; what lies higher is not looked after

// A bit a number. Read within close(), which may be called at any time: while this library is being loaded, in the
// handler of a signal, in a child that shares our memory after vfork().
constinit std::array<std::atomic<uint64_t>, kWords> numbers{};
constinit std::atomic<pid_t> owner{0};  // whose numbers they are

struct All {
  std::mutex mutex;
  std::unordered_set<KeptDescriptor::Kept*> kept;
};

// Never destroyed: applications close descriptors as they end.
All& all() {
  static auto* made = new All;
  return *made;
}

void mark(int number, bool kept) {
  auto n = static_cast<unsigned>(number);
  if (n / 64 >= kWords) return;
  uint64_t bit = uint64_t{1} << n % 64;
  if (kept) {
    numbers[n / 64] |= bit;
  } else {
    numbers[n / 64] &= ~bit;
  }
}

}  // namespace

KeptDescriptor::KeptDescriptor(Fd descriptor) {
  if (!descriptor) return;
  kept_ = std::make_unique<Kept>();
  Fd high(descriptor.get() >= kHighDescriptor ? -1 : ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kHighDescriptor));
  if (high) descriptor = std::move(high);
  kept_->identity = memory::FileIdentity(descriptor.get());
  kept_->number = descriptor.release();
  std::lock_guard lock(all().mutex);
  all().kept.insert(kept_.get());
  owner = ::getpid();
  mark(kept_->number, true);
}

int KeptDescriptor::get() const {
  if (!kept_) return -1;
  int number = kept_->number;
  return kept_->identity.is(number) ? number : -1;
}

void KeptDescriptor::close() {
  if (!kept_) return;
  int number = get();
  {
    std::lock_guard lock(all().mutex);
    all().kept.erase(kept_.get());
    mark(kept_->number, false);
  }
  kept_.reset();
  if (number >= 0) ::close(number);
}

namespace kept {

int next_from(unsigned number) {
  for (unsigned word = number / 64; word < kWords; ++word) {
    uint64_t bits = numbers[word].load(std::memory_order_relaxed);
    if (word == number / 64) bits &= ~uint64_t{0} << number % 64;
    if (bits == 0) continue;
    if (owner.load(std::memory_order_relaxed) != ::getpid()) return -1;  // after vfork(): they are the parent's
    return static_cast<int>(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
  }
  return -1;
}

bool move_away(int number) {
  std::lock_guard lock(all().mutex);
  for (KeptDescriptor::Kept* one : all().kept) {
    if (one->number != number) continue;
    if (!one->identity.is(number)) return true;  // the application's already
    int elsewhere = ::fcntl(number, F_DUPFD_CLOEXEC, std::max(number, kHighDescriptor));
    if (elsewhere < 0) return false;
    one->number = elsewhere;
    mark(elsewhere, true);
    mark(number, false);
    return true;
  }
  return true;
}

void before_fork() { all().mutex.lock(); }

void after_fork(bool child) {
  if (child) owner = ::getpid();
  all().mutex.unlock();
}

}  // namespace kept
}  // namespace mneme::record
