// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What functions do that only pass their arguments on (forwarded.def).
#pragma once
#include <tuple>

#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {

template <auto Function>
struct Signature;
template <class Result, class... Parameters, Result (*Function)(Parameters...)>
struct Signature<Function> {
  static constexpr size_t kCount = sizeof...(Parameters);
  template <size_t I>
  using Parameter = std::tuple_element_t<I, std::tuple<Parameters...>>;
};
template <auto Function, size_t I>
using Parameter = typename Signature<Function>::template Parameter<I>;

template <class Any>
Any passed(Any argument) {
  return argument;
}
inline hipStream_t passed(hipStream_t stream) { return stream_of(stream); }
template <class Any>
Any passed_by_thread(Any argument) {
  return argument;
}
inline hipStream_t passed_by_thread(hipStream_t stream) { return own_stream(stream); }

template <auto Function, class... Arguments>
Error forward(Arguments... arguments) {
  return static_cast<Error>(Function(passed(arguments)...));
}
// Of a program for which null is the calling thread's own stream.
template <auto Function, class... Arguments>
Error forward_by_thread(Arguments... arguments) {
  return static_cast<Error>(Function(passed_by_thread(arguments)...));
}
// In that stream, and done: `Function` takes a stream last.
template <auto Function, class... Arguments>
Error forward_and_wait(Arguments... arguments) {
  const auto status = static_cast<Error>(Function(arguments..., hipStreamPerThread));
  return status ? status : error(hipStreamSynchronize(hipStreamPerThread));
}

}  // namespace mneme::hostgpu::cuda
