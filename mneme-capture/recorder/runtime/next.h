// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <type_traits>

#include "recorder/runtime/find_library.h"

namespace mneme::record {

inline char absent;  // its address is that of functions which are not there

// The function of this name that the application would call if the recorder were not there. Found at its first call.
template <class Signature>
class Next;

template <class Result, class... Arguments>
class Next<Result(Arguments...)> {
 public:
  constexpr Next(const char* library, const char* name) : library_(library), name_(name) {}

  explicit operator bool() const { return get() != nullptr; }
  // With nothing to call, `missing`.
  template <class R = Result>
    requires(!std::is_void_v<R>)
  R call_or(std::type_identity_t<R> missing, Arguments... arguments) const {
    Pointer function = get();
    return function ? function(arguments...) : missing;
  }
  void call(Arguments... arguments) const
    requires std::is_void_v<Result>
  {
    if (Pointer function = get()) function(arguments...);
  }

 private:
  using Pointer = Result (*)(Arguments...);

  Pointer get() const {
    void* found = found_.load(std::memory_order_relaxed);
    if (!found) {
      found = ::dlsym(RTLD_NEXT, name_);
      // A program that loaded the runtime with dlopen keeps it out of the order in which symbols are looked up.
      void* library = found ? nullptr : find_library(library_);
      if (library) found = ::dlsym(library, name_);
      if (library && !found) found = &absent;  // from an older version, which need not be asked again
      found_.store(found, std::memory_order_relaxed);
    }
    return found == &absent ? nullptr : reinterpret_cast<Pointer>(found);
  }

  const char* library_;
  const char* name_;
  mutable std::atomic<void*> found_{nullptr};
};

}  // namespace mneme::record
