// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cubin as ptxas makes it, for tests.
#pragma once
#include <elf.h>

#include <cstdint>
#include <string>

#include "objects/elf_builder.h"

namespace mneme::record {

inline std::string attribute(uint8_t name, const std::string& value) {
  return std::string{4, static_cast<char>(name), static_cast<char>(value.size()), 0} + value;
}

template <typename... Words>
std::string words(Words... all) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&all), sizeof all), ...);
  return bytes;
}

inline std::string parameter(uint16_t ordinal, uint16_t offset, uint32_t size) {
  return attribute(0x17, words(uint32_t{0}, ordinal, offset, size << 18));
}

inline Elf64_Sym symbol(uint32_t name, uint8_t type, uint16_t section, uint64_t size, uint8_t other = 0) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
  symbol.st_other = other;
  symbol.st_shndx = section;
  symbol.st_size = size;
  return symbol;
}

// A cubin of the kernel "scale", with variables "counter" and "factors", and a function "malloc" of the driver's.
inline std::string cubin(const std::string& info) {
  const std::string symbols = words(symbol(0, 0, 0, 0), symbol(1, STT_FUNC, 1, 8, 0x10), symbol(7, STT_OBJECT, 2, 4),
                                    symbol(15, STT_OBJECT, 3, 16), symbol(23, STT_FUNC, 0, 0));
  return objects::build_elf({{".text.scale", "code"},
                             {".nv.global", std::string(8, '\0')},
                             {".nv.constant3", std::string(16, '\0')},
                             {".nv.info.scale", info},
                             {".symtab", symbols},
                             {".strtab", std::string("\0scale\0counter\0factors\0malloc\0", 30)}},
                            190);
}

}  // namespace mneme::record
