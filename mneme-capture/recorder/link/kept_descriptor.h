// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <memory>
#include <utility>

#include "base/file.h"
#include "memory/private_memory.h"

namespace mneme::record {

// A descriptor of ours in an application that may close all there are, and open its own by the same numbers. It lies
// high up, out of the application's way, where there is room. What is the application's is neither used nor closed.
class KeptDescriptor {
 public:
  KeptDescriptor() = default;
  explicit KeptDescriptor(Fd descriptor);
  KeptDescriptor(KeptDescriptor&&) = default;
  KeptDescriptor& operator=(KeptDescriptor&&) = delete;
  ~KeptDescriptor() { close(); }

  // There is one, or was until the application closed it behind our back.
  explicit operator bool() const { return static_cast<bool>(kept_); }
  int get() const;  // -1: it was closed
  void close();

  struct Kept {
    std::atomic<int> number{-1};
    memory::FileIdentity identity;
  };

 private:
  std::unique_ptr<Kept> kept_;
};

// What the hooks of close() and its kin have to know (descriptor_hooks.cc).
namespace kept {

// The lowest kept descriptor from this number on; -1: there is none.
int next_from(unsigned number);
inline bool is(int number) { return number >= 0 && next_from(static_cast<unsigned>(number)) == number; }
// The application is going to use this number: what was kept there goes elsewhere. False: it could not.
bool move_away(int number);

// Around fork(). Descriptors that the child keeps are its own.
void before_fork();
void after_fork(bool child);

}  // namespace kept
}  // namespace mneme::record
