// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/fault_guard.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "memory/of_thread.h"
#include "memory/own_region.h"

namespace mneme::device::host {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
constexpr size_t kStackSize = 64 * 1024;

// Read in a signal handler, where the first use of an ordinary thread_local could allocate.
[[gnu::tls_model("initial-exec")]] thread_local FaultGuard* active = nullptr;

struct sigaction previous[NSIG];

bool has_previous(int signal) {
  const struct sigaction& before = previous[signal];
  return (before.sa_flags & SA_SIGINFO) || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = previous[signal];
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (has_previous(signal)) {
    before.sa_handler(signal);
  } else {
    // The default: the instruction faults again on return; a signal that was sent is sent again.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) ::raise(signal);
  }
}

// Memory at and above the stack pointer is the stack's: where there is none, the stack has come to its end.
bool is_stack(const void* address, const void* context) {
  constexpr uint64_t kBelow = 4096, kAbove = 1 << 20;  // what a call and its frame use at once
  auto place = reinterpret_cast<uint64_t>(address);
  auto top = static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  return place + kBelow >= top && place < top + kAbove;
}

// Whether the access is to be tried again. An application may protect its pages so that its own handler learns of
// writes; a GPU writes to them all the same, and so does a kernel once that handler has made the page writable.
bool has_applications_help(FaultGuard& guard, int signal, siginfo_t* info, void* context) {
  constexpr int kMostTries = 100;  // of one access: then the handler does not help
  if (signal != SIGSEGV || info->si_code != SEGV_ACCERR || !has_previous(signal)) return false;
  if (is_stack(info->si_addr, context)) return false;
  guard.tries = guard.tried == info->si_addr ? guard.tries + 1 : 0;
  guard.tried = info->si_addr;
  if (guard.tries >= kMostTries) return false;
  pass_on(signal, info, context);
  return true;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  FaultGuard* guard = active;
  if (!guard || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  if (has_applications_help(*guard, signal, info, context)) return;
  // An address that is none, or not aligned as the instruction has it, is not told (SI_KERNEL).
  guard->has_address = (signal == SIGSEGV || signal == SIGBUS) && info->si_code != SI_KERNEL;
  guard->address = info->si_addr;
  constexpr greg_t kWrites = 2;  // of the processor's error code
  guard->writes = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrites;
  guard->stack_full = guard->has_address && is_stack(info->si_addr, context);
  siglongjmp(guard->jump, signal);
}

void install() {
  struct sigaction action{};
  action.sa_sigaction = on_fault;
  // Not blocked while handled, since the handler leaves by a jump; on a stack of its own, since the kernel may have
  // used up the thread's.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (int signal : kSignals) ::sigaction(signal, &action, &previous[signal]);
}

// The signal stack of this thread, unless it has one already.
struct SignalStack {
  SignalStack() {
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
    memory = memory::map_own(kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (memory == MAP_FAILED) return;
    stack_t mine{.ss_sp = memory, .ss_flags = 0, .ss_size = kStackSize};
    ::sigaltstack(&mine, nullptr);
  }
  ~SignalStack() {
    if (memory == MAP_FAILED) return;
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory) {
      now.ss_flags = SS_DISABLE;
      ::sigaltstack(&now, nullptr);
    }
    ::munmap(memory, kStackSize);
  }
  void* memory = MAP_FAILED;
};

}  // namespace

FaultGuard::FaultGuard() {
  static std::once_flag once;
  std::call_once(once, install);
  memory::of_this_thread<SignalStack>();
  active = this;
}

FaultGuard::~FaultGuard() { active = nullptr; }

void FaultGuard::leave() { siglongjmp(active->jump, kStopped); }

namespace {

// Whether memory is there that may be read.
bool is_readable(const void* address) {
  constexpr size_t kMost = 64 << 20;
  const auto place = reinterpret_cast<uint64_t>(address);
  std::istringstream lines(read_file("/proc/self/maps", kMost));
  for (std::string line; std::getline(lines, line);) {
    unsigned long begin = 0, end = 0;
    char readable = '-';
    if (std::sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &readable) != 3) continue;
    if (place >= begin && place < end) return readable == 'r';
  }
  return false;
}

}  // namespace

std::string describe_fault(int signal, const FaultGuard& guard) {
  if (guard.stack_full) return "has used up its stack";
  if (guard.has_address && !guard.address) return "used a null pointer (SIGSEGV)";
  if (guard.has_address && guard.writes && signal == SIGSEGV && is_readable(guard.address)) {
    return fmt::format("wrote to address {}, which is write-protected (SIGSEGV)", guard.address);
  }
  if (guard.has_address) {
    return fmt::format("used address {}, where it has no memory (SIG{})", guard.address, ::sigabbrev_np(signal));
  }
  if (signal == SIGSEGV || signal == SIGBUS) {
    return fmt::format("used an address that is none, or not a multiple of its type's size (SIG{})",
                       ::sigabbrev_np(signal));
  }
  return fmt::format("trapped (SIG{})", ::sigabbrev_np(signal));
}

}  // namespace mneme::device::host
