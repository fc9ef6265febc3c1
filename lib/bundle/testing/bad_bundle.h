// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: archives that no tool of ours would write.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mneme::bundle {

struct TarMember {
  std::string name;
  std::string contents;
  char type = '0';        // '1' hard link, '2' symbolic link, '5' folder, …
  std::string link = "";  // its target
};

inline void set_tar_checksum(char* header) {
  std::memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(header[i]);
  std::snprintf(header + 148, 8, "%06o", sum);
}

inline std::string tar_header(const TarMember& member, uint64_t size) {
  std::string header(512, '\0');
  member.name.copy(header.data(), 100);
  std::memcpy(header.data() + 100,
              "000644 \0"
              "000000 \0"
              "000000 \0",
              24);
  std::snprintf(header.data() + 124, 12, "%011lo", static_cast<unsigned long>(size));
  std::snprintf(header.data() + 136, 12, "%011o", 0);
  header[156] = member.type;
  member.link.copy(header.data() + 157, 100);
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  size_t slash = member.name.rfind('/');
  if (member.name.size() > 100 && slash != std::string::npos) {  // the folder goes into the prefix
    std::memset(header.data(), 0, 100);
    member.name.substr(slash + 1).copy(header.data(), 100);
    member.name.substr(0, slash).copy(header.data() + 345, 155);
  }
  set_tar_checksum(header.data());
  return header;
}

inline std::string tar_of(const std::vector<TarMember>& members) {
  std::string out;
  for (const TarMember& member : members) {
    out += tar_header(member, member.contents.size()) + member.contents;
    out.resize((out.size() + 511) / 512 * 512);
  }
  return out + std::string(1024, '\0');
}

// The member whose plain header, such as Writer makes, is at `at`, which moves on to the next; none at the archive's
// end, or where the archive does not hold all of it.
inline std::optional<TarMember> member_at(std::string_view tar, size_t& at) {
  if (at > tar.size() || tar.size() - at < 512 || tar[at] == '\0') return std::nullopt;
  const char* header = tar.data() + at;
  std::string prefix(header + 345, ::strnlen(header + 345, 155)), name(header, ::strnlen(header, 100));
  size_t size = std::strtoul(std::string(header + 124, 11).c_str(), nullptr, 8);
  if (size > tar.size() - at - 512) return std::nullopt;
  TarMember member{prefix.empty() ? name : prefix + "/" + name, std::string(tar.substr(at + 512, size)), '0', ""};
  at += 512 + (size + 511) / 512 * 512;
  return member;
}

inline std::vector<TarMember> members_of(std::string_view tar) {
  std::vector<TarMember> members;
  for (size_t at = 0; auto member = member_at(tar, at);) members.push_back(std::move(*member));
  return members;
}

}  // namespace mneme::bundle
