// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/function_places.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "base/error.h"
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

// What the variable of that name holds at first; 0: there is none.
uint64_t first_word(Bytes cubin, const std::string& variable) {
  std::optional<objects::ElfVariable> found = objects::elf_variable(cubin, variable, kWhat);
  uint64_t word = 0;
  if (found && found->first.size() == sizeof word) std::memcpy(&word, found->first.data(), sizeof word);
  return word;
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
    uint64_t address = first_word(cubin, objects::address_symbol(name));
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
