// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What compiling one configuration, many, and one after another have in common.
#pragma once
#include <vector>

#include "batch.h"
#include "bundle/adding.h"
#include "settings.h"

namespace mneme::compile {

// --save-ir's.
void save_texts(const std::string& folder, const Digest& variant, const codegen::Code& code);

// The kernel's own, where it is not what is compiled.
std::string_view recorded_ir(const bundle::KernelMember& kernel, const Settings& settings);
// As the command line has it; to be given what to do with each. Borrows all.
Batch batch_of(const bundle::KernelMember& kernel, const bundle::InstanceInfo* instance,
               const std::vector<Wanted>& wanted, const Settings& settings);

}  // namespace mneme::compile
