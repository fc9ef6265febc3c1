// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes down what it finds of a kernel before it, and leaves for the next whatever a process can hold.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "kernel.h"

namespace {

constexpr unsigned kTrace = 0xC0FFEE;
constexpr uint64_t kPlace = 0x430000000000;  // no recording's
constexpr size_t kPieces = 64, kPieceSize = 4096;

unsigned executions = 0;
thread_local unsigned of_thread = 0;

[[gnu::noinline]] unsigned on_stack(bool leave) {
  volatile unsigned words[1024];
  unsigned found = 0;
  for (volatile unsigned& word : words) {
    found += word == kTrace;
    if (leave) word = kTrace;
  }
  return found;
}

unsigned on_heap(bool leave) {
  unsigned found = 0;
  unsigned* pieces[kPieces];
  for (unsigned*& piece : pieces) {
    piece = static_cast<unsigned*>(std::malloc(kPieceSize));
    for (size_t i = 8; i < kPieceSize / sizeof(unsigned); ++i) {
      found += piece[i] == kTrace;
      if (leave) piece[i] = kTrace;
    }
  }
  for (unsigned* piece : pieces) std::free(piece);
  return found;
}

void* spoil(void* words) {
  for (unsigned i = 0;; ++i) static_cast<volatile unsigned*>(words)[2000] = i;
}

}  // namespace

void run_block(mneme::codegen::host::BlockContext* context) {
  if (context->group[0] != 0) return;
  unsigned* words = arguments_of(*context).words;
  unsigned* out = words;
  *out++ = executions;
  *out++ = of_thread;
  *out++ = on_stack(false);
  *out++ = on_heap(false);
  *out++ = std::getenv("MNEME_TEST_TRACE") != nullptr;
  *out++ = static_cast<unsigned>(std::fegetround());
  struct sigaction action;
  ::sigaction(SIGUSR1, nullptr, &action);
  *out++ = action.sa_handler != SIG_DFL;
  *out++ = static_cast<unsigned>(::msync(reinterpret_cast<void*>(kPlace), 4096, MS_ASYNC));
  *out++ = static_cast<unsigned>(::alarm(1000));

  executions++;
  of_thread++;
  on_stack(true);
  on_heap(true);
  ::setenv("MNEME_TEST_TRACE", "left", 1);
  ::signal(SIGUSR1, SIG_IGN);
  ::mmap(reinterpret_cast<void*>(kPlace), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  // Not in the prologue, and not compared: beyond the buffer, in its block.
  words[arguments_of(*context).count] = kTrace;
  pthread_t thread;
  if (::getenv("MNEME_TEST_SPOIL")) ::pthread_create(&thread, nullptr, spoil, words);
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
