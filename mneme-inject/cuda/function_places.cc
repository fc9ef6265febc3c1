// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/function_places.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "objects/cubin.h"
#include "objects/embedded.h"
#include "objects/function_address.h"

namespace mneme::inject {
namespace {

constexpr char kWhat[] = "the output of ptxas";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines.emplace_back(text.substr(0, end));
  }
  return lines;
}

// LLVM spells names so that are the unit's own, of which PTX does not allow all characters.
std::string in_ptx(const std::string& name) {
  std::string spelled;
  for (char c : name) spelled += c == '.' || c == '@' ? "_$_" : std::string(1, c);
  return spelled;
}

}  // namespace

std::string with_address_variables(std::string ptx, std::string_view names) {
  while (!ptx.empty() && ptx.back() == '\0') ptx.pop_back();
  for (const std::string& name : lines_of(names)) {
    ptx += fmt::format("\n.visible .global .align 8 .u64 {} = {};", objects::address_symbol(name), in_ptx(name));
  }
  return ptx + '\n';
}

FunctionPlaces places_in(Bytes cubin, std::string_view names) {
  FunctionPlaces places;
  std::set<uint64_t> met;
  std::vector<std::string> lines = lines_of(names);
  for (const std::string& name : lines) {
    uint64_t address = objects::first_word_in_cubin(cubin, objects::address_symbol(name), kWhat).value_or(0);
    // There are no more places than functions; offsets in code are further apart.
    bool is_one = objects::is_place(address) && address / objects::kPlaceStep <= lines.size();
    if (!is_one || !met.insert(address).second) return {};
    places[name] = address;
  }
  return places;
}

std::string with_places(std::string_view records, const FunctionPlaces& places) {
  std::string placed;
  for (objects::EmbeddedKernel& kernel : objects::parse_embedded(bytes_of(records), kWhat)) {
    bundle::KernelInfo& info = kernel.info;
    std::vector<uint64_t> addresses;
    for (const std::string& name : info.functions) {
      auto place = places.find(name);
      addresses.push_back(place == places.end() ? 0 : place->second);
    }
    if (std::ranges::any_of(addresses, [](uint64_t address) { return address != 0; })) {
      info.id = bundle::kernel_id(info.id, addresses);
      info.function_addresses = std::move(addresses);
    }
    placed += objects::write_embedded(bundle::write(info), kernel.bitcode);
  }
  return placed;
}

}  // namespace mneme::inject
