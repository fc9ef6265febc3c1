// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>

#include "bundle/reader.h"
#include "bundle/writer.h"
#include "settings.h"

namespace mneme::compile {

// While the instance is in hand: compiles the lines of --variants as they come, answers each, and adds their variants
// at once, so that mneme-run has them while the next line is thought of. Returns, when the lines end, how many of them
// were no configuration that could be compiled; each was named.
size_t follow(bundle::Writer& writer, const bundle::KernelMember& kernel, const bundle::InstanceInfo& instance,
              Settings& settings);

}  // namespace mneme::compile
