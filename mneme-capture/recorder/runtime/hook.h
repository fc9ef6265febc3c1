// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hook is a row: what is done, the name of the vendor's function, and the types of its parameters.
//
//   HOOK(give_device, cudaMalloc, void**, size_t)
//
// The function of that name, which the application finds first, is then
//
//   Status cudaMalloc(void** a, size_t b) { return give_device(runtime(), real, a, b); }
//
// where `real` makes the call that the application made, of next::cudaMalloc. Rows stand in the vendor's namespace,
// which has runtime() and library_of(). A function that is only called has a row, too:
//
//   CALL(Status, cudaGetLastError)
//
// What does not fit a row is a function that begins with HOOKED and calls NEXT.
#pragma once
#include "recorder/runtime/next.h"

namespace mneme::record {

inline Stream by_thread(Stream stream) { return per_thread(stream); }
template <class Any>
Any by_thread(Any argument) {
  return argument;
}
// What is done for a program that is compiled for a default stream of each thread's, where `action` is done for others.
template <auto action>
inline constexpr auto of_thread =
    [](auto& runtime, const Real& real, auto... arguments) { return action(runtime, real, by_thread(arguments)...); };

}  // namespace mneme::record

#define HOOKED extern "C" [[gnu::visibility("default")]]
// Within a HOOKED function, with its arguments: the vendor's.
#define NEXT(function) \
  static constinit const Next<decltype(function)> next { library_of(#function), #function }

#define CALL(result, name, ...)                                             \
  namespace next {                                                          \
  namespace {                                                               \
  constinit const Next<result(__VA_ARGS__)> name(library_of(#name), #name); \
  }                                                                         \
  }

#define HOOK(action, name, ...)                                                                      \
  CALL(Status, name, __VA_ARGS__)                                                                    \
  HOOKED Status name(MNEME_PARAMETERS(__VA_ARGS__)) {                                                \
    return action(runtime(), [&] { return next::name(MNEME_ARGUMENTS(__VA_ARGS__)); } __VA_OPT__(, ) \
                                 MNEME_ARGUMENTS(__VA_ARGS__));                                      \
  }
// And the variants for programs with a default stream of each thread's, as the vendors call them: CUDA's of functions
// without a stream, CUDA's of those with one, and HIP's.
#define HOOK_PTDS(action, name, ...) HOOK(action, name, __VA_ARGS__) HOOK(of_thread<action>, name##_ptds, __VA_ARGS__)
#define HOOK_PTSZ(action, name, ...) HOOK(action, name, __VA_ARGS__) HOOK(of_thread<action>, name##_ptsz, __VA_ARGS__)
#define HOOK_SPT(action, name, ...) HOOK(action, name, __VA_ARGS__) HOOK(of_thread<action>, name##_spt, __VA_ARGS__)

// "int, char*" as "int a, char* aa", and as "a, aa".
#define MNEME_PARAMETERS(...) __VA_OPT__(MNEME_EXPAND(MNEME_PARAMETER(a, __VA_ARGS__)))
#define MNEME_PARAMETER(name, type, ...) \
  type name __VA_OPT__(, MNEME_PARAMETER_AGAIN MNEME_PARENTHESES(name##a, __VA_ARGS__))
#define MNEME_PARAMETER_AGAIN() MNEME_PARAMETER
#define MNEME_ARGUMENTS(...) __VA_OPT__(MNEME_EXPAND(MNEME_ARGUMENT(a, __VA_ARGS__)))
#define MNEME_ARGUMENT(name, type, ...) name __VA_OPT__(, MNEME_ARGUMENT_AGAIN MNEME_PARENTHESES(name##a, __VA_ARGS__))
#define MNEME_ARGUMENT_AGAIN() MNEME_ARGUMENT
#define MNEME_PARENTHESES ()
#define MNEME_EXPAND(...) MNEME_EXPAND_4(MNEME_EXPAND_4(__VA_ARGS__))
#define MNEME_EXPAND_4(...) MNEME_EXPAND_2(MNEME_EXPAND_2(__VA_ARGS__))
#define MNEME_EXPAND_2(...) MNEME_EXPAND_1(MNEME_EXPAND_1(__VA_ARGS__))
#define MNEME_EXPAND_1(...) __VA_ARGS__
