// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cubin.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "objects/cuda_fatbin.h"
#include "objects/cuda_processor.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

// Section .nv.info: u8 form, u8 attribute, u16 value or, of form kSized, the size of the value that follows.
constexpr uint8_t kSized = 4;
constexpr uint8_t kFrame = 0x11, kRegisters = 0x2f;  // u32 index of a function's symbol, u32 number
// Section .nv.info.KERNEL. A parameter: u32, u16 ordinal, u16 offset, u32 of which the upper 14 bits are its size.
// Functions of others: a u32 each, the index of a symbol. The size of all parameters: the 16 bits.
constexpr uint8_t kParameter = 0x17, kExterns = 0x0f, kParameterBytes = 0x19;
constexpr uint32_t kSizeShift = 18;

// Section .nv.callgraph: a call of a function by another, u32 index of the caller's symbol, and of the other's. Numbers
// from -4 on are no symbols.
constexpr uint64_t kCallBytes = 8;

// Of a function: it is a kernel (STO_CUDA_ENTRY).
constexpr uint8_t kEntry = 0x10;

constexpr uint32_t kBanks = 32;

// Instructions from sm_70 on: of these bytes, the lowest bits are what is done.
constexpr unsigned kWideInstructions = 70, kOperationMask = 0x1ff;
constexpr uint64_t kInstructionBytes = 16;

// As ptxas 13.0 makes them for sm_75 to sm_120: TEX, TLD, TLD4, TXD, TXQ, and the query of a level, with a handle in a
// register and in a constant; SUATOM; SULD, SUST, SURED.
constexpr bool is_of_textures(unsigned operation) {
  return (operation >= 0x160 && operation <= 0x170) || operation == 0x194 || operation == 0x196 ||
         (operation >= 0x198 && operation <= 0x19f);
}

struct Symbol {
  uint32_t index = 0;
  std::string_view name;
  uint8_t type = 0, other = 0;
  uint16_t section = 0;
  uint64_t value = 0, size = 0;
};

// `take` says whether to go on.
template <typename Take>
void for_symbols(Bytes cubin, const std::string& where, const Take& take) {
  Bytes symbols = elf_section(cubin, ".symtab", where);
  const std::string_view names = text_of(elf_section(cubin, ".strtab", where));
  for (uint64_t at = 0; fits(at, sizeof(Elf64_Sym), symbols.size()); at += sizeof(Elf64_Sym)) {
    const uint64_t start = word_at<uint32_t>(symbols, at + offsetof(Elf64_Sym, st_name));
    if (start >= names.size()) continue;
    Symbol symbol;
    symbol.index = static_cast<uint32_t>(at / sizeof(Elf64_Sym));
    symbol.name = names.substr(start, std::min(names.find('\0', start), names.size()) - start);
    symbol.type = ELF64_ST_TYPE(word_at<uint8_t>(symbols, at + offsetof(Elf64_Sym, st_info)));
    symbol.other = word_at<uint8_t>(symbols, at + offsetof(Elf64_Sym, st_other));
    symbol.section = word_at<uint16_t>(symbols, at + offsetof(Elf64_Sym, st_shndx));
    symbol.value = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_value));
    symbol.size = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_size));
    if (!take(symbol)) return;
  }
}

std::optional<uint32_t> index_of_symbol(Bytes cubin, const std::string& name, const std::string& where) {
  std::optional<uint32_t> index;
  for_symbols(cubin, where, [&](const Symbol& symbol) {
    if (symbol.type == STT_FUNC && symbol.name == name) index = symbol.index;
    return !index;
  });
  return index;
}

// `take` gets an attribute's name, the 16 bits that follow it, and its value.
template <typename Take>
void for_attributes(Bytes info, const std::string& where, const Take& take) {
  for (uint64_t at = 0; at < info.size();) {
    if (!fits(at, 4, info.size())) throw Error::of("{} is a malformed cubin: an attribute is cut short", where);
    auto form = word_at<uint8_t>(info, at), name = word_at<uint8_t>(info, at + 1);
    auto word = word_at<uint16_t>(info, at + 2);
    uint64_t size = form == kSized ? word : 0;
    at += 4;
    if (!fits(at, size, info.size())) throw Error::of("{} is a malformed cubin: an attribute is cut short", where);
    take(name, word, info.subspan(at, size));
    at += size;
  }
}

uint32_t attribute(Bytes info, uint8_t wanted, uint32_t symbol, const std::string& where) {
  std::optional<uint32_t> found;
  for_attributes(info, where, [&](uint8_t name, uint16_t, Bytes value) {
    if (found || name != wanted || value.size() != 8 || word_at<uint32_t>(value, 0) != symbol) return;
    found = word_at<uint32_t>(value, 4);
  });
  return found.value_or(0);
}

// Whether a function calls the one that the symbol names.
bool calls(Bytes cubin, std::string_view function, uint32_t symbol, const std::string& where) {
  bool found = false;
  Bytes info = elf_section(cubin, fmt::format(".nv.info.{}", function), where);
  for_attributes(info, where, [&](uint8_t name, uint16_t, Bytes value) {
    if (name != kExterns) return;
    for (uint64_t at = 0; at + 4 <= value.size(); at += 4) found |= word_at<uint32_t>(value, at) == symbol;
  });
  return found;
}

// The kernel, and what it calls by name, directly or not.
std::set<std::string> functions_below(Bytes cubin, const std::string& kernel, const std::string& where) {
  std::map<uint32_t, std::string> names;
  for_symbols(cubin, where, [&](const Symbol& symbol) {
    if (symbol.type == STT_FUNC) names[symbol.index] = symbol.name;
    return true;
  });
  const Bytes graph = elf_section(cubin, ".nv.callgraph", where);
  std::set<std::string> reached = {kernel};
  for (std::vector<std::string> open = {kernel}; !open.empty();) {
    const std::string caller = std::move(open.back());
    open.pop_back();
    for (uint64_t at = 0; fits(at, kCallBytes, graph.size()); at += kCallBytes) {
      const auto from = names.find(word_at<uint32_t>(graph, at)), to = names.find(word_at<uint32_t>(graph, at + 4));
      if (from == names.end() || to == names.end() || from->second != caller) continue;
      if (reached.insert(to->second).second) open.push_back(to->second);
    }
  }
  return reached;
}

bool has_texture_instruction(Bytes code) {
  for (uint64_t at = 0; fits(at, kInstructionBytes, code.size()); at += kInstructionBytes) {
    if (is_of_textures(word_at<uint16_t>(code, at) & kOperationMask)) return true;
  }
  return false;
}

// Bytes of a section once it is loaded, be its contents in the image or not.
uint64_t loaded_size(Bytes cubin, const std::string& name, const std::string& where) {
  const std::optional<uint16_t> index = index_of_section(cubin, name, where);  // checks the table of sections
  if (!index) return 0;
  const auto table = word_at<uint64_t>(cubin, offsetof(Elf64_Ehdr, e_shoff));
  return word_at<uint64_t>(cubin, table + *index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size));
}

// Where the system has a part of each block's shared memory (from sm_90 on), it is in the kernel's section, too.
uint64_t shared_bytes(Bytes cubin, const std::string& kernel, const std::string& where) {
  constexpr uint64_t kOfTheSystem = 1024;
  const uint64_t all = loaded_size(cubin, ".nv.shared." + kernel, where);
  const bool has_other = index_of_section(cubin, ".nv.shared.reserved.0", where).has_value();
  return has_other ? all - std::min(all, kOfTheSystem) : all;
}

}  // namespace

bundle::Resources resources_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where) {
  std::optional<uint32_t> symbol = index_of_symbol(cubin, kernel, where);
  if (!symbol) throw Error::of("{} has no kernel '{}'", where, kernel);
  Bytes info = elf_section(cubin, ".nv.info", where);
  bundle::Resources resources;
  resources.registers = attribute(info, kRegisters, *symbol, where);
  resources.stack = attribute(info, kFrame, *symbol, where);
  resources.shared = shared_bytes(cubin, kernel, where);
  for (uint32_t bank = 0; bank < kBanks; ++bank) {
    std::string shared = fmt::format(".nv.constant{}", bank), own = fmt::format("{}.{}", shared, kernel);
    uint64_t bytes = elf_section(cubin, shared, where).size() + elf_section(cubin, own, where).size();
    if (bytes > 0) resources.constants.push_back({bank, bytes});
  }
  return resources;
}

std::string processor_of_cubin(Bytes cubin) {
  constexpr uint8_t kFirstForm = 7, kSecondForm = 8;
  if (cubin.size() < sizeof(Elf64_Ehdr) || !starts_with(cubin, 0, std::string_view(ELFMAG, SELFMAG))) return {};
  if (word_at<uint16_t>(cubin, offsetof(Elf64_Ehdr, e_machine)) != kCudaMachine) return {};
  const auto flags = word_at<uint32_t>(cubin, offsetof(Elf64_Ehdr, e_flags));
  switch (std::to_integer<uint8_t>(cubin[EI_ABIVERSION])) {
    case kFirstForm:
      return fmt::format("sm_{}{}", flags & 0xff, flags & 0x800 ? "a" : "");
    case kSecondForm:
      return fmt::format("sm_{}{}", flags >> 8 & 0xff, flags & 0x8 ? "a" : "");
    default:
      return {};
  }
}

bool has_kernel(Bytes cubin, const std::string& kernel, const std::string& where) {
  bool found = false;
  for_symbols(cubin, where, [&](const Symbol& symbol) {
    found = symbol.type == STT_FUNC && symbol.section != SHN_UNDEF && symbol.name == kernel;
    return !found;
  });
  return found;
}

std::optional<Parameters> parameters_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where) {
  if (!has_kernel(cubin, kernel, where)) return std::nullopt;
  std::map<uint16_t, Parameter> found;  // by ordinal
  uint64_t bytes = 0, told = 0;
  for_attributes(elf_section(cubin, ".nv.info." + kernel, where), where, [&](uint8_t name, uint16_t word, Bytes value) {
    if (name == kParameterBytes) bytes = word;
    if (name != kParameter || value.size() != 12) return;
    const uint32_t offset = word_at<uint16_t>(value, 6), size = word_at<uint32_t>(value, 8) >> kSizeShift;
    found[word_at<uint16_t>(value, 4)] = {offset, size};
    told = std::max<uint64_t>(told, offset + size);
  });
  if (told != bytes && bytes > 0) return std::nullopt;
  Parameters parameters;
  for (const auto& [ordinal, parameter] : found) {
    if (ordinal != parameters.size()) return std::nullopt;
    parameters.push_back(parameter);
  }
  return parameters;
}

std::vector<bundle::Global> variables_in_cubin(Bytes cubin, const std::string& where) {
  constexpr uint16_t kNone = SHN_UNDEF;
  const uint16_t constants = index_of_section(cubin, ".nv.constant3", where).value_or(kNone);
  const uint16_t zeros = index_of_section(cubin, ".nv.global", where).value_or(kNone);
  const uint16_t others = index_of_section(cubin, ".nv.global.init", where).value_or(kNone);
  std::vector<bundle::Global> found;
  for_symbols(cubin, where, [&](const Symbol& symbol) {
    const bool is_variable =
        symbol.section != kNone && (symbol.section == constants || symbol.section == zeros || symbol.section == others);
    if (symbol.type == STT_OBJECT && is_variable && symbol.size > 0 && !symbol.name.empty()) {
      found.push_back({std::string(symbol.name), symbol.size, 1, symbol.section == constants});
    }
    return true;
  });
  std::ranges::sort(found, {}, &bundle::Global::name);
  return found;
}

bool calls_in_cubin(Bytes cubin, const std::string& kernel, std::string_view function, const std::string& where) {
  std::optional<uint32_t> called;
  std::vector<std::string> callers = {kernel};
  for_symbols(cubin, where, [&](const Symbol& symbol) {
    if (symbol.type != STT_FUNC) return true;
    if (symbol.section == SHN_UNDEF && symbol.name == function) called = symbol.index;
    if (symbol.section != SHN_UNDEF && !(symbol.other & kEntry)) callers.emplace_back(symbol.name);
    return true;
  });
  return called &&
         std::ranges::any_of(callers, [&](const std::string& caller) { return calls(cubin, caller, *called, where); });
}

bool uses_textures_in_cubin(Bytes cubin, const std::string& kernel, const std::string& where) {
  if (cuda_processor(processor_of_cubin(cubin)).number < kWideInstructions) return false;
  return std::ranges::any_of(functions_below(cubin, kernel, where), [&](const std::string& function) {
    return has_texture_instruction(elf_section(cubin, fmt::format(".text.{}", function), where));
  });
}

std::optional<ElfVariable> cubin_variable(Bytes cubin, std::string_view name, const std::string& where) {
  Bytes symbols = elf_section(cubin, ".symtab", where), names = elf_section(cubin, ".strtab", where);
  for (uint64_t at = 0; fits(at, sizeof(Elf64_Sym), symbols.size()); at += sizeof(Elf64_Sym)) {
    uint64_t start = word_at<uint32_t>(symbols, at + offsetof(Elf64_Sym, st_name));
    if (!starts_with(names, start, std::string(name) + '\0')) continue;
    auto info = word_at<uint8_t>(symbols, at + offsetof(Elf64_Sym, st_info));
    auto section = word_at<uint16_t>(symbols, at + offsetof(Elf64_Sym, st_shndx));
    if (ELF64_ST_TYPE(info) != STT_OBJECT || section == SHN_UNDEF) return std::nullopt;
    auto value = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_value));
    auto size = word_at<uint64_t>(symbols, at + offsetof(Elf64_Sym, st_size));
    Bytes contents = elf_section_at(cubin, section, where);
    return ElfVariable{size, fits(value, size, contents.size()) ? contents.subspan(value, size) : Bytes()};
  }
  return std::nullopt;
}

}  // namespace mneme::objects
