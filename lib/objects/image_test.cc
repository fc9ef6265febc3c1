// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elf.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"

namespace mneme::objects {
namespace {

std::string gpu_elf(uint16_t machine = 224) {
  std::string elf = build_elf({{".mneme.ir", "some IR"}});
  poke(elf, offsetof(Elf64_Ehdr, e_machine), machine);
  return elf;
}

std::string bundle_of(const std::string& image) {
  const std::string triple = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  for (uint64_t number : {uint64_t{1}, uint64_t{512}, uint64_t{image.size()}, uint64_t{triple.size()}}) {
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  out += triple;
  out.resize(512, '\0');
  return out + image;
}

const std::byte* start(const std::string& bytes) { return reinterpret_cast<const std::byte*>(bytes.data()); }

TEST(Image, OfABareCodeObject) {
  std::string elf = gpu_elf();
  EXPECT_EQ(size_of_image(start(elf), "test"), elf.size());
  for (size_t size : {elf.size(), SIZE_MAX}) {
    auto code = device_code_of_image(start(elf), size, "test");
    ASSERT_EQ(code.size(), 1u);
    EXPECT_EQ(text_of(elf_section(code[0].image, ".mneme.ir", "test")), "some IR");
  }
}

TEST(Image, OfABareCubin) {
  std::string elf = gpu_elf(190);
  for (size_t size : {elf.size(), SIZE_MAX}) {
    auto code = device_code_of_image(start(elf), size, "test");
    ASSERT_EQ(code.size(), 1u);
    EXPECT_EQ(code[0].target, "nvptx64-nvidia-cuda");
    EXPECT_EQ(text_of(elf_section(code[0].image, ".mneme.ir", "test")), "some IR");
  }
}

TEST(Image, OfABundle) {
  std::string bundle = bundle_of(gpu_elf());
  EXPECT_EQ(size_of_image(start(bundle), "test"), bundle.size());
  auto code = device_code_of_image(start(bundle), SIZE_MAX, "test");
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(code[0].target, "hipv4-amdgcn-amd-amdhsa--gfx90a");
}

TEST(Image, RefusesWhatIsNone) {
  std::string text(4096, 'x'), host = gpu_elf(EM_X86_64), cut = gpu_elf().substr(0, 40);
  EXPECT_THROW(size_of_image(start(text), "test"), Error);
  EXPECT_THROW(device_code_of_image(start(text), text.size(), "test"), Error);
  EXPECT_THROW(device_code_of_image(start(host), host.size(), "test"), Error);
  EXPECT_THROW(device_code_of_image(start(cut), cut.size(), "test"), Error);
}

TEST(Image, RefusesSectionsOutsideTheAddressSpace) {
  std::string elf = gpu_elf();
  uint64_t table;
  std::memcpy(&table, elf.data() + offsetof(Elf64_Ehdr, e_shoff), sizeof table);
  poke(elf, table + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), UINT64_MAX);
  EXPECT_THROW(size_of_image(start(elf), "test"), Error);
}

}  // namespace
}  // namespace mneme::objects
