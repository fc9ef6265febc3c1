// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches that reach the stand-in past the recorder, which is in front of it otherwise: by functions that the
// application has found in other ways than the loader's usual ones, or from a namespace of the loader's own (dlmopen),
// which has a stand-in of its own.
#pragma once
#include "bundle/format.h"

namespace mneme::hostgpu {

// Where the calling thread has not come by the recorder: the function of that name that is in front, which calls this
// one in its turn. It may be called on in its place while a HandedOver lives. Null: there is none.
void* function_in_front(const char* name);

class HandedOver {
 public:
  HandedOver();
  ~HandedOver();
  HandedOver(const HandedOver&) = delete;
  HandedOver& operator=(const HandedOver&) = delete;
};

// Has the launch counted, or named, where the recorder is in another namespace, or in none.
void tell_if_unrecorded(const bundle::KernelInfo& kernel);

}  // namespace mneme::hostgpu
