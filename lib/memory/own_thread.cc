// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/own_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <semaphore>
#include <system_error>
#include <utility>
#include <vector>

#include "memory/main_thread.h"
#include "memory/own_region.h"

namespace mneme::memory {

struct OwnThread::Thread {
  std::function<void()> work;
  void* stack = nullptr;
  pthread_t id{};
  std::optional<cpu_set_t> processors;
  std::atomic<bool> ended = false;
};

namespace {

using Thread = OwnThread::Thread;

constexpr size_t kGuard = 16 * 4096;            // below a stack; pages that nobody can use
constexpr std::chrono::milliseconds kLook{10};  // for the application's last thread, once the main thread has left

// Bytes, as other threads have.
size_t usual_stack_size() {
  size_t size = 0;
  pthread_attr_t usual;
  if (::pthread_getattr_default_np(&usual) == 0) {
    ::pthread_attr_getstacksize(&usual, &size);
    ::pthread_attr_destroy(&usual);
  }
  return std::clamp<size_t>(size, 1 << 20, 64 << 20);
}

// While it lives, threads that are started get no signals but those of faults in what they do.
class NoSignals {
 public:
  NoSignals() {
    sigset_t others;
    ::sigfillset(&others);
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) ::sigdelset(&others, signal);
    ::pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

void* map_stack(size_t size) {
  void* stack = map_own(kGuard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_STACK);
  if (stack == MAP_FAILED) return nullptr;
  ::mprotect(stack, kGuard, PROT_NONE);
  return stack;
}

// The processors that the calling thread may run on; none where that is not to be known.
std::optional<cpu_set_t> own_processors() {
  cpu_set_t processors;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof processors, &processors) != 0) return std::nullopt;
  return processors;
}

// On the processors of the calling thread, unless others are given. An errno value, or 0.
int create(pthread_t* thread, void* stack, size_t stack_size, const std::optional<cpu_set_t>& processors,
           void* (*run)(void*), void* argument) {
  NoSignals none;
  pthread_attr_t how;
  if (int error = ::pthread_attr_init(&how)) return error;
  int error = ::pthread_attr_setstack(&how, static_cast<std::byte*>(stack) + kGuard, stack_size);
  if (!error && processors) error = ::pthread_attr_setaffinity_np(&how, sizeof *processors, &*processors);
  if (!error) error = ::pthread_create(thread, &how, run, argument);
  ::pthread_attr_destroy(&how);
  return error;
}

// The thread that starts and joins the others, and what it knows.
class Starter {
 public:
  // Throws std::system_error.
  static Starter& running();

  // Has it done by the starter, and waits until it is.
  template <class Call>
  void have_done(Call&& call) {
    std::binary_semaphore done{0};
    {
      std::lock_guard lock(mutex_);
      calls_.push_back([&] {
        call();
        done.release();
      });
    }
    called_.notify_one();
    done.acquire();
  }

  // By the starter only. An errno value, or 0.
  int start(const std::shared_ptr<Thread>& thread);
  // False: what it does when it ends goes on, and may wait for who waits for the starter.
  bool joined(Thread& thread) noexcept {
    if (::pthread_tryjoin_np(thread.id, nullptr) == EBUSY) return false;
    free_.push_back(thread.stack);
    return true;
  }
  void collect_later(std::shared_ptr<Thread> thread) noexcept { detached_.push_back(std::move(thread)); }
  void look() noexcept {
    std::lock_guard lock(mutex_);
    called_.notify_one();
  }

 private:
  static void* serve(void* starter) { static_cast<Starter*>(starter)->serve(); }
  [[noreturn]] void serve();
  void add_stack();  // throws std::bad_alloc

  const size_t stack_size_ = usual_stack_size();
  std::mutex mutex_;
  std::condition_variable called_;
  std::vector<std::function<void()>> calls_;  // under the lock
  size_t stacks_ = 0;                         // used and free
  // Both have room for all threads that there are, so that they can take them whatever happens.
  std::vector<void*> free_;  // stacks
  std::vector<std::shared_ptr<Thread>> detached_;
};

std::atomic<Starter*> starter = nullptr;  // never destroyed: threads may outlive what is at the end
constinit std::mutex starting;

void look_for_the_last() noexcept {
  if (Starter* known = starter) known->look();
}

// A child has none of the threads, and knows nothing of them. Before handlers of the application's, which may start
// some.
[[gnu::constructor(102)]] void forget_in_children() {
  ::pthread_atfork(nullptr, nullptr, [] {
    starter = nullptr;
    new (&starting) std::mutex;
  });
}

Starter& Starter::running() {
  if (Starter* known = starter) return *known;
  std::lock_guard lock(starting);
  if (Starter* known = starter) return *known;
  when_main_thread_leaves(look_for_the_last);
  auto mine = std::make_unique<Starter>();
  void* stack = map_stack(mine->stack_size_);
  pthread_t thread;
  int error = stack ? create(&thread, stack, mine->stack_size_, std::nullopt, serve, mine.get()) : errno;
  if (error) {
    if (stack) ::munmap(stack, kGuard + mine->stack_size_);
    throw std::system_error(error, std::generic_category(), "cannot start a thread");
  }
  ::pthread_detach(thread);
  // Waits for the C library to make the thread's heap, now and not later.
  mine->have_done([] {
    void* volatile some = std::malloc(1);
    std::free(some);
  });
  starter = mine.release();
  return *starter;
}

// And ends the process where nothing else would.
void Starter::serve() {
  for (;;) {
    std::vector<std::function<void()>> calls;
    {
      std::unique_lock lock(mutex_);
      auto called = [this] { return !calls_.empty() || main_thread_leaves(); };
      called_.wait(lock, called);
      if (main_thread_leaves()) called_.wait_for(lock, kLook, [this] { return !calls_.empty(); });
      calls.swap(calls_);
    }
    if (calls.empty() && only_own_threads_left()) end_process();
    for (auto& call : calls) call();
  }
}

void* run(void* argument) {
  std::unique_ptr<std::shared_ptr<Thread>> held(static_cast<std::shared_ptr<Thread>*>(argument));
  std::shared_ptr<Thread> thread = std::move(*held);
  held.reset();
  std::exchange(thread->work, nullptr)();
  thread->ended = true;
  thread->ended.notify_all();
  return nullptr;
}

void Starter::add_stack() {
  free_.reserve(stacks_ + 1);
  detached_.reserve(stacks_ + 1);
  void* stack = map_stack(stack_size_);
  if (!stack) throw std::bad_alloc();
  free_.push_back(stack);
  ++stacks_;
}

int Starter::start(const std::shared_ptr<Thread>& thread) try {
  std::erase_if(detached_, [this](const auto& one) { return joined(*one); });
  if (free_.empty()) add_stack();
  auto held = std::make_unique<std::shared_ptr<Thread>>(thread);
  if (int error = create(&thread->id, free_.back(), stack_size_, thread->processors, run, held.get())) return error;
  static_cast<void>(held.release());
  thread->stack = free_.back();
  free_.pop_back();
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

}  // namespace

OwnThread::OwnThread(std::function<void()> work) : thread_(std::make_shared<Thread>()) {
  thread_->work = std::move(work);
  thread_->processors = own_processors();
  Starter& its = Starter::running();
  int error = 0;
  its.have_done([&] { error = its.start(thread_); });
  if (error) throw std::system_error(error, std::generic_category(), "cannot start a thread");
}

OwnThread& OwnThread::operator=(OwnThread&& other) noexcept {
  if (joinable()) std::terminate();
  thread_ = std::move(other.thread_);
  return *this;
}

OwnThread::~OwnThread() {
  if (joinable()) std::terminate();
}

bool OwnThread::is_this_thread() const { return joinable() && ::pthread_equal(thread_->id, ::pthread_self()); }

void OwnThread::join() {
  thread_->ended.wait(false);
  Starter& its = Starter::running();
  for (bool joined = false; !joined;) {
    its.have_done([&] { joined = its.joined(*thread_); });
    if (!joined) ::usleep(50);
  }
  thread_.reset();
}

void OwnThread::detach() {
  Starter& its = Starter::running();
  its.have_done([&] { its.collect_later(std::move(thread_)); });
}

}  // namespace mneme::memory
