// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <concepts>
#include <type_traits>

#include "vendor/common.h"

namespace mneme::record {

using namespace vendor;

inline char absent;  // its address is that of functions which are not there
// The vendor's function of this name (of both parts of it), past the recorder's. Null: its library is not loaded.
void* find_next(const char* library, const char* prefix, const char* name);

// The function of this name that the application would call if the recorder were not there. Found at its first call.
template <class Signature>
class Next;

template <class Result, class... Arguments>
class Next<Result(Arguments...)> {
 public:
  constexpr Next(const char* library, const char* name) : Next(library, "", name) {}
  constexpr Next(const char* library, const char* prefix, const char* name)
      : library_(library), prefix_(prefix), name_(name) {}

  explicit operator bool() const { return get() != nullptr; }
  // With nothing to call: kNotSupported, or null.
  Result operator()(Arguments... arguments) const {
    if (Pointer function = get()) return function(arguments...);
    if constexpr (std::is_same_v<Result, Status>) {
      return kNotSupported;
    } else {
      return Result();
    }
  }

 private:
  using Pointer = Result (*)(Arguments...);

  Pointer get() const {
    void* found = found_.load(std::memory_order_relaxed);
    if (!found) {
      found = find_next(library_, prefix_, name_);
      found_.store(found, std::memory_order_relaxed);
    }
    return found == &absent ? nullptr : reinterpret_cast<Pointer>(found);
  }

  const char* library_;
  const char* prefix_;
  const char* name_;
  mutable std::atomic<void*> found_{nullptr};
};

// The call that the application made, for what stands in front of it: makes it, and returns the vendor's status. It is
// there as long as what it was made from, a hook's closure.
class Real {
 public:
  template <class Call>
    requires(!std::same_as<Call, Real>)
  Real(const Call& call)
      : call_(&call), make_([](const void* made) -> Status { return (*static_cast<const Call*>(made))(); }) {}
  Status operator()() const { return make_(call_); }

 private:
  const void* call_;
  Status (*make_)(const void*);
};

}  // namespace mneme::record
