// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cudart.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace mneme::inject {
namespace {

using Words = std::vector<std::string>;

TEST(Cudart, IsNamedInMoreThanOneWay) {
  for (const Words& words : {Words{"-lcudart"}, Words{"-l", "cudart"}, Words{"-l:libcudart.so.13"},
                             Words{"/cuda/lib64/libcudart.so"}, Words{"-lcudart_static"}}) {
    EXPECT_TRUE(names_cudart(words)) << words.front();
  }
  EXPECT_FALSE(names_cudart({"a.o", "-lcudadevrt", "-o", "libcudart"}));
}

TEST(Cudart, TheSharedOneTakesTheStaticOnesPlace) {
  EXPECT_EQ(with_shared_cudart({"a.o", "-lcudart", "-o", "app"}), std::nullopt);
  EXPECT_EQ(with_shared_cudart({"a.o", "-lcudart_static", "-ldl"}), (Words{"a.o", "-lcudart", "-ldl"}));
  EXPECT_EQ(with_shared_cudart({"-l", "cudart_static"}), (Words{"-l", "cudart"}));
  EXPECT_EQ(with_shared_cudart({"/no/libcudart_static.a"}), Words{"-lcudart"});
  TemporaryFolder folder;
  write_file(folder.path() + "/libcudart.so", "");
  EXPECT_EQ(with_shared_cudart({folder.path() + "/libcudart_static.a"}), Words{folder.path() + "/libcudart.so"});
}

TEST(Cudart, IsFoundInResponseFiles) {
  TemporaryFolder folder;
  std::string file = "@" + folder.path() + "/words";
  write_file(folder.path() + "/words", "a.o -lcudart_static 'b c.o'");
  EXPECT_TRUE(names_cudart({file}));
  EXPECT_EQ(with_shared_cudart({"-O2", file}), (Words{"-O2", "a.o", "-lcudart", "b c.o"}));
  write_file(folder.path() + "/words", "a.o");
  EXPECT_EQ(with_shared_cudart({file, "-lcudart_static"}), (Words{file, "-lcudart"})) << "left as it is if it can be";
}

}  // namespace
}  // namespace mneme::inject
