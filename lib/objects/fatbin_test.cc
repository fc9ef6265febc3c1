// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <zstd.h>

#include "base/error.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"

namespace mneme::objects {
namespace {

constexpr char kHost[] = "host-x86_64-unknown-linux--";
constexpr char kGfx90a[] = "hipv4-amdgcn-amd-amdhsa--gfx90a";
constexpr char kGfx906[] = "hipv4-amdgcn-amd-amdhsa--gfx906";
constexpr size_t kFirstEntry = 32;  // after the magic and the count

template <typename Number>
void append(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string offload_bundle(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "__CLANG_OFFLOAD_BUNDLE__", body;
  append(out, uint64_t{entries.size()});
  for (const auto& [triple, contents] : entries) {
    append(out, uint64_t{1024 + body.size()});
    append(out, uint64_t{contents.size()});
    append(out, uint64_t{triple.size()});
    out += triple;
    body += contents;
  }
  out.resize(1024, '\0');
  return out + body;
}

std::string compressed(const std::string& plain, uint16_t version = 2, uint16_t method = 1) {
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 3));
  std::string out = "CCOB";
  append(out, version);
  append(out, method);
  if (version == 2) {
    append(out, static_cast<uint32_t>(24 + frame.size()));
    append(out, static_cast<uint32_t>(plain.size()));
  } else {
    append(out, uint64_t{32 + frame.size()});
    append(out, uint64_t{plain.size()});
  }
  append(out, uint64_t{0});  // clang's own hash
  return out + frame;
}

std::string pages(std::string text) {
  text.resize((text.size() + 4095) / 4096 * 4096, '\0');
  return text;
}

std::vector<DeviceCode> of_fatbin(const std::string& fatbin) {
  return device_code_of_fatbin(reinterpret_cast<const std::byte*>(fatbin.data()), fatbin.size(), "test");
}

std::vector<DeviceCode> of_executable(const std::string& image) {
  return device_code_of_executable(bytes_of(image), "test");
}

TEST(Fatbin, gives_the_device_images) {
  std::string fatbin = offload_bundle({{kHost, ""}, {kGfx906, "first image"}, {kGfx90a, "second"}});
  auto code = of_fatbin(fatbin);
  ASSERT_EQ(code.size(), 2u);
  EXPECT_EQ(code[0].target, kGfx906);
  EXPECT_EQ(text_of(code[0].image), "first image");
  EXPECT_EQ(text_of(code[1].image), "second");
}

TEST(Fatbin, works_without_knowing_the_size) {
  std::string fatbin = offload_bundle({{kHost, ""}, {kGfx90a, "image"}});
  auto code = device_code_of_fatbin(reinterpret_cast<const std::byte*>(fatbin.data()), SIZE_MAX, "test");
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(text_of(code[0].image), "image");
}

TEST(Fatbin, decompresses) {
  for (uint16_t version : {2, 3}) {
    auto code = of_fatbin(compressed(offload_bundle({{kHost, ""}, {kGfx90a, "image"}}), version));
    ASSERT_EQ(code.size(), 1u);
    EXPECT_EQ(text_of(code[0].image), "image");
  }
}

TEST(Fatbin, a_compression_not_understood_names_the_option) {
  try {
    of_fatbin(compressed(offload_bundle({{kGfx90a, "image"}}), 2, 0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--offload-compress"), std::string::npos);
  }
}

TEST(Fatbin, refuses_lies) {
  const std::string good = offload_bundle({{kGfx90a, "image"}});
  EXPECT_THROW(of_fatbin(""), Error);
  EXPECT_THROW(of_fatbin("something else"), Error);
  for (uint64_t lie : {UINT64_MAX, UINT64_MAX - 1023, uint64_t{1} << 63, uint64_t{good.size() + 1}}) {
    for (size_t field : {size_t{24}, kFirstEntry, kFirstEntry + 8, kFirstEntry + 16}) {
      std::string bad = good;
      poke(bad, field, lie);
      EXPECT_THROW(of_fatbin(bad), Error) << lie << " at " << field;
    }
  }
  for (size_t size = 0; size < good.size(); ++size) EXPECT_THROW(of_fatbin(good.substr(0, size)), Error) << size;
}

TEST(Fatbin, refuses_lies_in_compressed_bundles) {
  const std::string good = compressed(offload_bundle({{kGfx90a, "image"}}));
  for (size_t size = 0; size < good.size(); ++size) EXPECT_THROW(of_fatbin(good.substr(0, size)), Error) << size;
  for (size_t field : {8, 12}) {
    for (uint32_t lie : {0u, UINT32_MAX, 100u}) {
      std::string bad = good;
      poke(bad, field, lie);
      EXPECT_THROW(of_fatbin(bad), Error) << lie << " at " << field;
    }
  }
  std::string bad = good;
  bad[bad.size() / 2] ^= 0x40;
  EXPECT_THROW(of_fatbin(bad), Error) << "damaged";
  EXPECT_THROW(of_fatbin(compressed("no bundle at all")), Error);
}

TEST(Executable, gives_every_translation_unit) {
  std::string units = pages(offload_bundle({{kHost, ""}, {kGfx90a, std::string(5000, 'a')}})) +
                      pages(offload_bundle({{kHost, ""}, {kGfx90a, "b"}})) + std::string(4096, '\0') +
                      pages(compressed(offload_bundle({{kHost, ""}, {kGfx90a, "c"}})));
  auto code = of_executable(build_elf({{".text", "x"}, {".hip_fatbin", units}}));
  ASSERT_EQ(code.size(), 3u);
  EXPECT_EQ(code[0].image.size(), 5000u);
  EXPECT_EQ(text_of(code[1].image), "b");
  EXPECT_EQ(text_of(code[2].image), "c");
}

TEST(Executable, without_device_code_gives_none) {
  EXPECT_TRUE(of_executable(build_elf({{".text", "x"}})).empty());
  EXPECT_TRUE(of_executable(build_elf({{".hip_fatbin", ""}})).empty());
  EXPECT_TRUE(of_executable(build_elf({{".hip_fatbin", std::string(9000, 'x')}})).empty());
}

TEST(Executable, refuses_a_bundle_cut_by_its_section) {
  std::string unit = offload_bundle({{kGfx90a, std::string(5000, 'a')}});
  EXPECT_THROW(of_executable(build_elf({{".hip_fatbin", unit.substr(0, 4096)}})), Error);
}

}  // namespace
}  // namespace mneme::objects
