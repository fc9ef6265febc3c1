// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::inject {

// Whether the command that this compilation is a part of makes text or IR (-S, -emit-llvm), which may be edited:
// where a build has the flags of mneme-inject --print-flags, nobody else looks at its commands.
bool makes_text();

}  // namespace mneme::inject
