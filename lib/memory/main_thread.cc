// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/main_thread.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "memory/own_region.h"

namespace mneme::memory {
namespace {

std::atomic<void (*)() noexcept> to_call = nullptr;
std::atomic<bool> leaves = false;
sigset_t its_signals;
pthread_key_t key;  // of what the main thread alone has

void leave(void*) {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &its_signals);
  leaves = true;
  if (auto call = to_call.load()) call();
}

void be_main_thread() { ::pthread_setspecific(key, &key); }

// What is loaded by another thread does not see the main thread leave.
[[gnu::constructor(102)]] void watch() {
  if (::pthread_key_create(&key, leave) != 0) return;
  if (::getpid() == ::gettid()) be_main_thread();
  ::pthread_atfork(nullptr, nullptr, [] {
    leaves = false;
    be_main_thread();
  });
}

// The C library keeps the list's head beside a thread's stack, and the kernel forgets it when the thread ends.
bool robust_list_of(pid_t thread, uint64_t& head) {
  size_t size = 0;
  return ::syscall(SYS_get_robust_list, thread, &head, &size) == 0;
}

bool is_gone_or_own(pid_t thread) {
  uint64_t head = 0;
  if (!robust_list_of(thread, head)) return false;
  if (thread == ::getpid()) return head == 0;
  return head >= kOwnBase && head < kOwnBase + kMostOwnRegions * kOwnRegionSize;
}

// In a page before the regions, which can be mapped once in a process.
bool is_first() {
  constexpr uint64_t kPage = 4096;
  void* want = reinterpret_cast<void*>(kOwnBase - kPage);
  return ::mmap(want, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == want;
}

}  // namespace

void when_main_thread_leaves(void (*call)() noexcept) noexcept { to_call = call; }

bool main_thread_leaves() noexcept { return leaves; }

bool only_own_threads_left() noexcept {
  DIR* tasks = ::opendir("/proc/self/task");
  if (!tasks) return false;
  bool only = true;
  while (only) {
    dirent* task = ::readdir(tasks);
    if (!task) break;
    if (pid_t thread = std::atoi(task->d_name)) only = is_gone_or_own(thread);
  }
  ::closedir(tasks);
  return only;
}

void end_process() noexcept {
  if (!is_first()) return;
  pthread_t last;
  auto end = [](void*) -> void* {
    ::pthread_sigmask(SIG_SETMASK, &its_signals, nullptr);
    std::exit(0);
  };
  ::pthread_create(&last, nullptr, end, nullptr);
}

}  // namespace mneme::memory
