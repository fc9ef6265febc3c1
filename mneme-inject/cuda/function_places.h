// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where ptxas places functions whose address is taken (objects/function_address.h).
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace mneme::inject {

// What the pass plugin carries in PTX: names of functions, as LLVM has them, each followed by a newline.
inline constexpr std::string_view kFunctionsSection = ".mneme.functions";

using FunctionPlaces = std::map<std::string, uint64_t>;

// PTX with one more variable for each of these functions, at its end, which holds its address. The assembler places
// functions in the order in which their addresses are taken, so that all are where they are without.
std::string with_address_variables(std::string ptx, std::string_view names);

// What those variables hold in the cubin that was made of it. Empty where they hold something else than places: what
// the loader puts there.
FunctionPlaces places_in(Bytes cubin, std::string_view names);

// The kernels' records (objects/embedded.h) with the addresses of the functions that they name.
std::string with_places(std::string_view records, const FunctionPlaces& places);

}  // namespace mneme::inject
