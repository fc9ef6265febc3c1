// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "bundle/reader.h"
#include "bundle/writer.h"

namespace mneme::bundle {

// Add a kernel or a variant with all its members, once: the json is `text`, or where that is empty made of `info`. Code
// of kernels without IR, which is a whole module's for each of its kernels, is a member by its digest, and added unless
// the writer has it.
void add(Writer& writer, const KernelMember& kernel);
void add(Writer& writer, const VariantMember& variant);

// Code of kernels without IR, ahead of them; they need not have it then.
void add_code(Writer& writer, const Digest& digest, std::string_view code);

}  // namespace mneme::bundle
