// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of forwarded.def: functions that are others under another name, with the same parameters.
//   CALL          as it is
//   ON_STREAM     and with _ptsz, for which a stream that is null is the thread's own
//   BY_THREAD     only that one, of a function that has a body of its own
//   SYNCHRONOUS   and with _ptds, which does the last function in the thread's own stream and waits for it
// Each calls forward<function> or its kin, of the namespace that is used.
#pragma once
#include "hostgpu/cuda/forward.h"

#define P(function, i, name) mneme::hostgpu::cuda::Parameter<function, i> name
#define PARAMETERS_0(f)
#define PARAMETERS_1(f) P(f, 0, a)
#define PARAMETERS_2(f) PARAMETERS_1(f), P(f, 1, b)
#define PARAMETERS_3(f) PARAMETERS_2(f), P(f, 2, c)
#define PARAMETERS_4(f) PARAMETERS_3(f), P(f, 3, d)
#define PARAMETERS_5(f) PARAMETERS_4(f), P(f, 4, e)
#define PARAMETERS_6(f) PARAMETERS_5(f), P(f, 5, g)
#define PARAMETERS_7(f) PARAMETERS_6(f), P(f, 6, h)
#define PARAMETERS_8(f) PARAMETERS_7(f), P(f, 7, i)
#define PARAMETERS_9(f) PARAMETERS_8(f), P(f, 8, j)
#define ARGUMENTS_0
#define ARGUMENTS_1 a
#define ARGUMENTS_2 ARGUMENTS_1, b
#define ARGUMENTS_3 ARGUMENTS_2, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define ARGUMENTS_6 ARGUMENTS_5, g
#define ARGUMENTS_7 ARGUMENTS_6, h
#define ARGUMENTS_8 ARGUMENTS_7, i
#define ARGUMENTS_9 ARGUMENTS_8, j

#define FORWARD(count, name, call, like) \
  int name(PARAMETERS_##count(like)) { return (call)(ARGUMENTS_##count); }
#define CALL(count, name, function)                                            \
  static_assert(mneme::hostgpu::cuda::Signature<function>::kCount == (count)); \
  FORWARD(count, name, forward<function>, function)
#define ON_STREAM(count, name, function) \
  CALL(count, name, function)            \
  FORWARD(count, name##_ptsz, forward_by_thread<function>, function)
#define BY_THREAD(count, name) FORWARD(count, name##_ptsz, forward_by_thread<name>, name)
#define SYNCHRONOUS(count, name, function, queued) \
  CALL(count, name, function)                      \
  FORWARD(count, name##_ptds, forward_and_wait<queued>, function)
