// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A configuration's json where it is a part of another, and where it is but a part of itself.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

namespace json {
class Object;
class Text;
}  // namespace json

// A configuration's keys, in an object of its own.
void write_configuration(json::Text& out, const Configuration& configuration);
Configuration read_configuration(const json::Object& in);

// Its keys and values for people, in the order of the JSON: dimensions as "128" or "16,16", numbers, "true", texts and
// digests whole. A key that is false or empty is left out.
std::vector<std::pair<std::string, std::string>> settings_of(const Configuration& configuration);

// Changes of `configuration` what the json object says, a line of mneme-compile's --variants, and returns the keys that
// it has. Stricter than parse_configuration(): throws Error on a key that no configuration has, on one that is there
// twice, and on a value that no compiler could take. "assembler" may also be "auto" or "none", which is not of the
// normal form.
std::set<std::string> override_configuration(std::string_view json, const std::string& where,
                                             Configuration& configuration);

}  // namespace mneme::bundle
