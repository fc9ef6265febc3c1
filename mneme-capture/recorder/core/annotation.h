// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>

struct mneme_annotation_v1;

namespace mneme::record {

// A segment's annotation as the bundle has it: {"offset":0,"dtype":"f64","threshold":1e-06,"kind":"relative",
// "norm":"linf","tag":"out"}, and "scale" ahead of the tag where one is given. The offset is where in its segment the
// annotated memory begins; a segment is cut there, so it is always 0. nullopt, and the trouble, for values that mean
// nothing.
std::optional<std::string> annotation_json(const mneme_annotation_v1& annotation, std::string& trouble);

// How many runs of elements one that means something ignores.
uint64_t ignored_runs(const mneme_annotation_v1& annotation);

// How far one that means something reaches; 0: as far as it can.
uint64_t annotated_bytes(const mneme_annotation_v1& annotation);

}  // namespace mneme::record
