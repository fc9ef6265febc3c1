// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/core/core.h"

namespace mneme::record {

// This process's recorder; null while there is none, because no capture started it or wants it. start() is called
// when the first device code is registered or the first memory given out; a second call does nothing.
Core* core();
void start(Runtime& runtime, const Devices& devices);

}  // namespace mneme::record
