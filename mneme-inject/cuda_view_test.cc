// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_view.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "cli/shell.h"
#include "command.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr char kOldHelp[] = "--image <image spec>,...  (-image)\n--image3 <image spec>,...";
constexpr char kNewHelp[] = "--image2 <image spec>,...\n--image3 <image spec>,...";

class CudaView : public testing::Test {
 protected:
  CudaView() {
    ::setenv("MNEME_LIBDIR", (folder_.path() + "/parts").c_str(), 1);
    ::setenv("XDG_CACHE_HOME", cache().c_str(), 1);
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
    for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) ::unsetenv(name);
    for (const char* part : {"fatbinary", "ptxas", "nvlink", "include/__clang_cuda_intrinsics.h"}) {
      put("parts/cuda/" + std::string(part), "ours");
    }
    put("parts/libmneme-inject-pass.so", "");
  }
  ~CudaView() override {
    for (const char* name : {"MNEME_LIBDIR", "XDG_CACHE_HOME", "TMPDIR"}) ::unsetenv(name);
  }

  std::string cache() const { return folder_.path() + "/cache"; }

  void put(const std::string& path, const std::string& contents) {
    fs::path file = fs::path(folder_.path()) / path;
    fs::create_directories(file.parent_path());
    write_file(file, contents);
    ::chmod(file.c_str(), 0755);
  }

  std::string make_toolkit(const std::string& name, int version, const std::string& fatbinary_help = kNewHelp) {
    put(name + "/include/cuda.h", "#define OTHER\n#define CUDA_VERSION " + std::to_string(version) + "\n");
    put(name + "/nvvm/libdevice/libdevice.10.bc", "");
    put(name + "/lib64/libcudart.so", "");
    for (const char* program : {"ptxas", "nvlink", "nvcc"}) put(name + "/bin/" + program, "the toolkit's");
    put(name + "/bin/fatbinary", "#!/bin/sh\ncat <<'END'\n" + fatbinary_help + "\nEND\n");
    return folder_.path() + "/" + name;
  }

  std::string view_of(const std::string& toolkit) { return cuda_path(find_cuda_toolkit(toolkit).value()); }

  TemporaryFolder folder_;
};

TEST_F(CudaView, ToolkitsAreFoundInOrder) {
  std::string first = make_toolkit("first", 13000), second = make_toolkit("second", 12040);
  EXPECT_EQ(find_cuda_toolkit(folder_.path() + "/none"), std::nullopt) << "a folder that is named is the only one";
  ::setenv("CUDA_HOME", second.c_str(), 1);
  EXPECT_EQ(find_cuda_toolkit("").value().path, second);
  EXPECT_EQ(find_cuda_toolkit("").value().version, 12040);
  ::setenv("CUDA_PATH", first.c_str(), 1);
  EXPECT_EQ(find_cuda_toolkit("").value().path, first);
  EXPECT_EQ(find_cuda_toolkit(second).value().path, second);
  ::setenv("CUDA_PATH", folder_.path().c_str(), 1);
  EXPECT_EQ(find_cuda_toolkit("").value().path, second) << "what is no toolkit is passed over";
}

TEST_F(CudaView, ShowsTheToolkitWithProgramsOfOurs) {
  std::string toolkit = make_toolkit("a toolkit", 13000);
  std::string view = view_of(toolkit);
  EXPECT_TRUE(view.starts_with(cache() + "/mneme/cuda-")) << view;
  for (const char* program : {"ptxas", "nvlink", "fatbinary"}) {
    EXPECT_EQ(read_file(view + "/bin/" + program), "ours") << program;
    EXPECT_EQ(fs::read_symlink(view + "/bin/toolkit-" + program), toolkit + "/bin/" + program);
  }
  EXPECT_EQ(read_file(view + "/bin/nvcc"), "the toolkit's");
  EXPECT_EQ(fs::read_symlink(view + "/include"), toolkit + "/include");
  EXPECT_FALSE(file_exists(toolkit + "/bin/toolkit-ptxas")) << "the toolkit is left as it is";
}

TEST_F(CudaView, MendsOnlyWhatNeedsIt) {
  EXPECT_FALSE(file_exists(view_of(make_toolkit("known", 12050)) + "/bin/toolkit-fatbinary"));
  EXPECT_FALSE(file_exists(view_of(make_toolkit("later", 12090, kOldHelp)) + "/bin/toolkit-fatbinary"));
  auto flags = [](const std::string& toolkit) {
    return cli::quoted(cuda_compile_flags(find_cuda_toolkit(toolkit).value()));
  };
  EXPECT_EQ(flags(folder_.path() + "/known").find("-Wno-unknown"), std::string::npos);
  EXPECT_NE(flags(folder_.path() + "/later").find("-Wno-unknown-cuda-version"), std::string::npos);
  EXPECT_EQ(flags(folder_.path() + "/later").find("cccl"), std::string::npos);
  put("later/include/cccl/thrust/version.h", "");
  EXPECT_NE(flags(folder_.path() + "/later").find("/later/include/cccl"), std::string::npos);
}

TEST_F(CudaView, IsMadeOnceForAToolkit) {
  std::string toolkit = make_toolkit("toolkit", 13000), other = make_toolkit("other", 13000);
  std::string view = view_of(toolkit);
  auto made = fs::last_write_time(view);
  EXPECT_EQ(view_of(toolkit), view);
  EXPECT_EQ(fs::last_write_time(view), made);
  EXPECT_NE(view_of(other), view);
}

TEST_F(CudaView, OfItselfIsItself) {
  std::string view = view_of(make_toolkit("toolkit", 13000));
  EXPECT_EQ(view_of(view), view);
}

TEST_F(CudaView, IsMadeAgainWhereItIsDamaged) {
  std::string toolkit = make_toolkit("toolkit", 13000);
  std::string view = view_of(toolkit);
  fs::remove(view + "/bin/toolkit-ptxas");
  EXPECT_EQ(view_of(toolkit), view);
  EXPECT_TRUE(file_exists(view + "/bin/toolkit-ptxas"));
}

TEST_F(CudaView, ManyMayMakeItAtOnce) {
  std::string toolkit = make_toolkit("toolkit", 12040);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(file_exists(view_of(toolkit) + "/bin/toolkit-ptxas")); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(cache() + "/mneme"), {}), 1) << "nothing else is left";
}

TEST_F(CudaView, LiesElsewhereWithoutACache) {
  std::string toolkit = make_toolkit("toolkit", 12040);
  put("cache", "a file, not a folder");
  std::string view = view_of(toolkit);
  EXPECT_TRUE(view.starts_with(folder_.path() + "/mneme-")) << view;
  EXPECT_TRUE(file_exists(view + "/bin/toolkit-ptxas"));
}

TEST_F(CudaView, IsNotPutWhereOthersCanWrite) {
  std::string toolkit = make_toolkit("toolkit", 12040);
  put("cache", "a file, not a folder");
  std::string shared = fs::path(view_of(toolkit)).parent_path();
  ::chmod(shared.c_str(), 0777);
  EXPECT_THROW(view_of(toolkit), Error);
}

// ---- in commands --------------------------------------------------------------------------------

TEST_F(CudaView, CompilationsAreGivenIt) {
  std::string toolkit = make_toolkit("toolkit", 12040);
  Words command = recordable({"clang++-19", "-c", "app.cu", "--cuda-path=" + toolkit}).command;
  EXPECT_NE(cli::quoted(command).find("-Xclang -fpass-plugin=" + folder_.path() + "/parts/libmneme-inject-pass.so"),
            std::string::npos);
  EXPECT_EQ(command.back(), "--cuda-path=" + view_of(toolkit)) << "behind the command's own, so that it counts";
  EXPECT_EQ(cli::quoted(command).find("-lcudart"), std::string::npos);
  command = recordable({"clang++-19", "--cuda-host-only", "-c", "--cuda-path=" + toolkit, "--", "app.cu"}).command;
  EXPECT_EQ(cli::quoted(command).find("-fpass-plugin"), std::string::npos);
  EXPECT_EQ(command[command.size() - 3], "--cuda-path=" + view_of(toolkit));
}

TEST_F(CudaView, LinksAreGivenTheRuntime) {
  std::string toolkit = make_toolkit("toolkit", 12040), named = "--cuda-path=" + toolkit;
  auto shown = [](const Words& command) { return cli::quoted(recordable(command).command); };
  std::string library = "-L" + toolkit + "/lib64 -Xlinker -rpath -Xlinker " + toolkit + "/lib64 -lcudart";
  EXPECT_TRUE(shown({"clang++-19", named, "app.cu"}).ends_with(library));
  EXPECT_FALSE(shown({"clang++-19", named, "app.cu", "-lcudart"}).ends_with(library));
  EXPECT_FALSE(shown({"clang++-19", named, "app.cu", "-nostdlib"}).ends_with(library));
  EXPECT_FALSE(shown({"clang++-19", named, "--cuda-device-only", "app.cu"}).ends_with(library));
  std::string linked = shown({"clang++-19", "--offload-link", named, "a.o", "b.o"});
  EXPECT_TRUE(linked.ends_with("-Xlinker --cuda-path=" + view_of(toolkit) + " " + library)) << linked;
}

TEST_F(CudaView, LinksOfTheStaticRuntimeAreChanged) {
  ::setenv("CUDA_PATH", make_toolkit("toolkit", 12040).c_str(), 1);
  Recordable link = recordable({"clang++-17", "a.o", "-lcudart_static", "-o", "app"});
  EXPECT_TRUE(cli::quoted(link.command).starts_with("clang++-17 a.o -lcudart -o app -L")) << cli::quoted(link.command);
  EXPECT_NE(link.note, "");
  for (const Words& other : {Words{"ar", "rcs", "x.a", "libcudart_static.a"}, Words{"g++", "-c", "a.cc"}}) {
    EXPECT_EQ(recordable(other).command, other);
    EXPECT_EQ(recordable(other).note, "");
  }
}

TEST_F(CudaView, NvccIsRefused) {
  EXPECT_THROW(recordable({"nvcc", "-c", "app.cu"}), Error);
  EXPECT_THROW(recordable({"ccache", "/usr/local/cuda/bin/nvcc", "a.o", "-o", "app"}), Error);
  Words version = {"nvcc", "--version"};
  EXPECT_EQ(recordable(version).command, version);
}

}  // namespace
}  // namespace mneme::inject
