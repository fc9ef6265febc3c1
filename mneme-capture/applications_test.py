#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What real applications notice of mneme-capture, which is nothing, in narrow circumstances, too."""

import os
import subprocess
import tempfile
import unittest

from capturing import PROGRAMS, CaptureCase, bundles, run, tool


LIBRARY = """
#include <hip/hip_runtime.h>
__global__ void triple(int* data) { data[threadIdx.x] *= 3; }
extern "C" int use() {
  int *memory, values[32];
  for (int i = 0; i < 32; ++i) values[i] = i;
  if (hipMalloc(&memory, sizeof values) || hipMemcpy(memory, values, sizeof values, hipMemcpyHostToDevice)) return 1;
  triple<<<1, 32>>>(memory);
  if (hipMemcpy(values, memory, sizeof values, hipMemcpyDeviceToHost)) return 1;
  for (int i = 0; i < 32; ++i) if (values[i] != 3 * i) return 1;
  return hipFree(memory);
}
"""
OPENS = """
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <cstdio>
#include <string>
__global__ void own(int* data) { data[threadIdx.x] = 1; }
int main(int, char** arguments) {
  int* memory;
  if (hipMalloc(&memory, 128)) return 1;
  own<<<1, 32>>>(memory);
  if (hipDeviceSynchronize()) return 1;
  bool deep = arguments[2] == std::string("deep");
  void* library = deep ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : dlmopen(LM_ID_NEWLM, arguments[1], RTLD_NOW);
  if (!library) return std::puts(dlerror()), 1;
  std::puts(reinterpret_cast<int (*)()>(dlsym(library, "use"))() ? "wrong" : "right");
}
"""


# Finds the runtime's function in ways of its own, and launches by that.
FINDS = """
#include <dlfcn.h>
#include <hip/hip_runtime.h>
#include <string>
__global__ void own(int* data) { data[threadIdx.x] = 1; }
int main(int, char** arguments) {
  const std::string way = arguments[1];
  const char* name = "hipLaunchKernel";
  void* runtime = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
  void* found = nullptr;
  using Lookup = void* (*)(void*, const char*);
  if (way == "handle") found = dlsym(runtime, name);
  if (way == "versioned") found = dlvsym(RTLD_DEFAULT, name, "hip_4.2");
  if (way == "next") found = dlvsym(RTLD_NEXT, name, "hip_4.2");
  if (way == "library") found = reinterpret_cast<void* (*)(const char*)>(dlsym(dlopen(arguments[2], RTLD_NOW), "next"))(name);
  if (way == "unseen") found = reinterpret_cast<Lookup>(dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5"))(runtime, name);
  int* memory;
  if (!found || hipMalloc(&memory, 128)) return 1;
  void* list[] = {&memory};
  using Launch = hipError_t (*)(const void*, dim3, dim3, void**, size_t, hipStream_t);
  if (reinterpret_cast<Launch>(found)(reinterpret_cast<const void*>(own), dim3(1), dim3(32), list, 0, nullptr)) return 1;
  return hipDeviceSynchronize();
}
"""
LOOKS_BEHIND = """
#include <dlfcn.h>
extern "C" void* next(const char* name) { return dlsym(RTLD_NEXT, name); }
"""


PROTECTS = """
#include <hip/hip_runtime.h>
#include <sys/mman.h>
#include <csignal>
#include <cstdio>
#include <string>
constexpr size_t kPage = 4096, kSize = 16 * kPage;
static char* heap;
static bool helps;
static volatile int faults;
static void on_fault(int, siginfo_t* info, void*) {
  char* page = heap + (static_cast<char*>(info->si_addr) - heap) / kPage * kPage;
  faults = faults + 1;
  if (helps) mprotect(page, kPage, PROT_READ | PROT_WRITE);
}
__global__ void store(int* data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
int main(int, char** arguments) {
  helps = arguments[1] == std::string("helps");
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  heap = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  int* mapped;
  if (hipHostRegister(heap, kSize, hipHostRegisterMapped)) return 1;
  if (hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), heap, 0)) return 1;
  mprotect(heap, kSize, PROT_READ);
  store<<<kSize / 512, 128>>>(mapped);
  if (hipDeviceSynchronize()) return 1;
  int wrong = 0;
  for (size_t i = 0; i < kSize / 4; ++i) wrong += reinterpret_cast<int*>(heap)[i] != 7;
  std::puts(!wrong && faults >= 16 ? "right" : "wrong");
}
"""


STACK = """
#include <hip/hip_runtime.h>
struct Functor { int* host; int* device; };
__global__ void use(Functor functor) { functor.device[threadIdx.x] = 1; }
int main() {
  int local = 0;
  int* device;
  if (hipMalloc(&device, 128)) return 1;
  use<<<1, 32>>>({&local, device});
  return hipDeviceSynchronize();
}
"""


class Applications(CaptureCase):
    def test_memory_calls_behave(self):
        program = self.program("memory_calls")
        for options in [["--max-instances", "0"], [], ["--va-size", "1G"]]:
            with self.subTest(options):
                result = self.capture(program, options=options)
                said = result.out.decode() if "0" in options else result.error
                self.assertIn("memory_calls: ok", said)

    def test_threads(self):
        for _ in range(3):
            result = self.capture(self.program("threads"), options=["--max-instances", "20"])
            self.assertEqual(len(self.instances(result)), 20)
            self.assertIn("threads: ok", result.error)
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_standard_output(self):
        program = self.program("vector_add")
        piped = self.capture(program)
        self.assertIn("vector_add: ok", piped.error)
        self.assertNotIn(b"vector_add: ok", piped.out)
        bundle = self.folder / "kept.tar"
        kept = self.capture(program, options=["-o", bundle])
        self.assertEqual(kept.out, b"vector_add: ok\n")
        self.assertEqual(kept.error, "")
        self.assertEqual([m.name for m in bundles.read(bundle.read_bytes())],
                         [m.name for m in bundles.read(piped.out)])

    def test_running_only(self):
        result = self.capture(self.program("vector_add"), options=["--max-instances", "0"])
        self.assertEqual(result.out, b"vector_add: ok\n")

    def test_libraries_whose_place_is_linked_in(self):
        """DT_RPATH, as Spack has it, comes before LD_LIBRARY_PATH."""
        real = run(["sh", "-c", "ldconfig -p | sed -n 's/.*libamdhip64.so.5 .*=> //p' | head -1"]).out.decode().strip()
        self.assertTrue(real, "there is no HIP runtime")
        source = PROGRAMS / "vector_add.hip"
        program = self.build(source, "placed", "-O2", f"-Wl,--disable-new-dtags,-rpath,{os.path.dirname(real)}")
        self.assertIn("vector_add: ok", self.capture(program, options=["--max-instances", "0"]).out.decode())
        self.assertEqual(len(self.instances(self.capture("env", "A=b", program))), 1)
        # A script may take the host device from what it starts.
        script = f"export LD_LIBRARY_PATH={os.path.dirname(real)}; {self.program('vector_add')}; true"
        result = run([tool("capture"), "--device", "host", "sh", "-c", script])
        self.assertEqual(result.status, 2, result.text())
        self.assertRegex(result.error, "process [0-9]+ has the vendor's runtime library in place of the host device")

    def test_libraries_that_want_nobody_between(self):
        """RTLD_DEEPBIND hides no launches; those of a namespace of the loader's own are named."""
        library, program = self.folder / "library.hip", self.folder / "opens.hip"
        library.write_text(LIBRARY)
        program.write_text(OPENS)
        self.build(library, "liblibrary.so", "-O2", "-fPIC", "-shared")
        opens = self.build(program, "opens", "-O2")
        bound = self.capture(opens, self.folder / "liblibrary.so", "deep")
        self.assertEqual(len(self.instances(bound)), 2)
        self.assertIn("right", bound.error)
        apart = self.capture(opens, self.folder / "liblibrary.so", "apart")
        self.assertEqual(len(self.instances(apart)), 1)
        self.assertRegex(apart.error, r"warning: triple\(int\*\): 1 launch not recorded: .*\(dlmopen\)")
        [skipped] = self.summary(apart)["skipped"]
        self.assertEqual((skipped["kernel"], skipped["launches"]), ("triple(int*)", 1))
        # Where there is no recorder at all.
        alone = self.capture("sh", "-c", f"{opens} {self.folder / 'liblibrary.so'} deep; unset LD_PRELOAD; "
                                         f"{opens} {self.folder / 'liblibrary.so'} deep")
        self.assertEqual(len(self.instances(alone)), 2)
        self.assertRegex(alone.error, r"mneme: kernel 'own\(int\*\)' is launched where the recorder is not loaded, .*: "
                                      "its launches are not recorded")

    def test_functions_that_are_found_in_other_ways(self):
        source, library = self.folder / "finds.hip", self.folder / "behind.cpp"
        source.write_text(FINDS)
        library.write_text(LOOKS_BEHIND)
        behind = self.folder / "libbehind.so"
        self.run_well(["clang++-19", "-fPIC", "-shared", library, "-o", behind])
        program = self.build(source, "finds", "-O2", "-Wl,--no-as-needed", f"-L{self.folder}", "-lbehind", f"-Wl,-rpath,{self.folder}")
        for way in ("handle", "versioned", "next", "library", "unseen"):
            with self.subTest(way):
                self.assertEqual(len(self.instances(self.capture(program, way, behind))), 1)

    def test_pages_that_the_application_protects(self):
        """To learn of writes, by a handler of its own: a kernel writes there as a GPU does."""
        source = self.folder / "protects.hip"
        source.write_text(PROTECTS)
        program = self.build(source, "protects", "-O2")
        result = self.capture(program, "helps")
        self.assertIn("right", result.error)
        self.run_well([tool("compile")], [tool("run")], [tool("verify")], input=result.out)
        result = self.capture(program, "does not", status=4)
        self.assertRegex(result.error, r"mneme: kernel 'store\(int\*\)', .*: wrote to address .*, which is write-protected")

    def test_sanitizers(self):
        source = self.folder / "sanitized.hip"
        source.write_text(LIBRARY + "int main() { return use(); }\n")
        runtime = run(["clang++-19", "-print-file-name=libclang_rt.asan-x86_64.so"]).out.decode().strip()
        for name, *options in [("static", "-fsanitize=address"),
                               ("shared", "-fsanitize=address", "-shared-libasan", f"-Wl,-rpath,{os.path.dirname(runtime)}"),
                               ("undefined", "-fsanitize=undefined"), ("leak", "-fsanitize=leak")]:
            with self.subTest(name):
                program = self.build(source, name, "-O1", *options)
                result = self.capture(program, env={"ASAN_OPTIONS": "detect_leaks=0"})
                self.run_well([tool("compile")], [tool("run")], [tool("verify")], input=result.out)
        program = self.build(source, "thread", "-O1", "-fsanitize=thread")
        result = self.capture(program, status=2)
        self.assertIn("this process is not recorded: it is built with -fsanitize=thread", result.error)
        self.assertNotIn("ThreadSanitizer", result.error)

    def test_sanitizer_of_another_compiler(self):
        """It has its memory where recorded host memory lies."""
        source, main = self.folder / "part.hip", self.folder / "main.cc"
        source.write_text(LIBRARY)
        main.write_text('extern "C" int use();\nint main() { return use(); }\n')
        library, program = self.folder / "libpart.so", self.folder / "main"
        self.build(source, "libpart.so", "-O1", "-fPIC", "-shared")
        self.run_well(["g++", "-fsanitize=address", main, library, f"-Wl,-rpath,{self.folder}", "-o", program])
        result = self.capture(program, env={"ASAN_OPTIONS": "detect_leaks=0"}, status=2)
        self.assertIn("this process is not recorded: it is built with g++ -fsanitize=address", result.error)

    def test_the_stack_lies_where_it_lay(self):
        """Addresses of it are in arguments, and arguments tell launches apart."""
        source = self.folder / "stack.hip"
        source.write_text(STACK)
        program = self.build(source, "stack", "-O2")
        ids = {self.instances(self.capture(program, env={"ANY": "x" * size, **more}))[0]["id"]
               for size, more in ((1, {}), (15, {}), (1000, {}), (3000, {"OTHER": ""}), (40000, {}))}
        other = self.folder / "another name of the program"
        other.symlink_to(program)
        for command in ([other], [program, "an argument"], [program, "more", "of", "them"]):
            ids.add(self.instances(self.capture(*command))[0]["id"])
        self.assertEqual(len(ids), 1)

    def test_output_that_cannot_be_written(self):
        program = self.program("vector_add")
        with open("/dev/full", "wb") as full:
            result = run([tool("capture"), "--device", "host", program], stdout=full)
        self.assert_refused(result, 2, "No space left")
        self.assertIn("vector_add: ok", result.error)  # the application is not the one to suffer
        closed = run([tool("capture"), "--device", "host", program], ["head", "-c", "100"])
        self.assertEqual(closed.statuses[0], 2, closed.text())
        self.assertIn("vector_add: ok", closed.errors[0])
        self.assertNotIn("error", closed.errors[0])  # a pipe whose reader went is the reader's to explain
        self.assertEqual(len(closed.out), 100)

    def limited(self, how, options=(), status=0):
        result = self.capture(self.program("limited"), how, options=options, status=status)
        self.assertIn("limited: ok", result.error)
        return result

    def test_what_is_not_started_leaves_a_file_what_it_was(self):
        program = self.program("stencil_2d")
        copy = self.folder / "copy"
        copy.write_bytes(program.read_bytes())
        copy.chmod(0o755)
        for application, output, why in [("./nothing", copy, "No such file"), (copy, copy, "Text file busy")]:
            result = self.capture(application, options=["-o", output], status=2)
            self.assertIn(why, result.error)
            self.assertEqual(copy.read_bytes(), program.read_bytes())
        self.capture("./nothing", options=["-o", self.folder / "new"], status=2)
        self.assertFalse((self.folder / "new").exists(), "what make would take for a bundle")
        self.capture(program, options=["-o", copy])
        self.assertEqual([i["id"] for i in self.instances(self.capture(program))],
                         [bundles.parsed(m)["id"] for m in bundles.read(copy.read_bytes())
                          if m.name.startswith("instances/")], "the rest of what was there is gone")

    def test_limits_that_recording_gets_along_with(self):
        for how in ["plain", "addresses", "larger-files", "no-files-in-memory", "forks"]:
            with self.subTest(how):
                result = self.limited(how)
                self.assertEqual(result.error, "limited: ok\n")
                self.assertEqual(len(self.instances(result)), 4)
        # The last: files in memory were forbidden to the recorder, not to these.
        self.run_well([tool("compile"), "-O2"], [tool("run")], [tool("verify")], input=result.out)

    def test_where_nothing_can_be_recorded_the_application_runs_on(self):
        for how, reason in [("files", "ulimit -f"), ("closes-first", "closed its connection")]:
            with self.subTest(how):
                result = self.limited(how, status=2)
                self.assertRegex(result.error, f"error: no launch of .* was recorded: .*, 4 launches: recording had ended: .*{reason}")
                skipped = [(s["launches"], s["reason"]) for s in self.summary(result)["skipped"]]
                self.assertEqual([launches for launches, _ in skipped], [4])
                self.assertIn(reason, skipped[0][1])

    def test_few_descriptors_for_mneme_capture(self):
        """It records, or says why it cannot; and nobody waits for it."""
        statuses = []
        for most in range(6, 20):
            bundle = self.folder / "few.tar"
            command = f'ulimit -n {most}; exec "$0" --device host -o {bundle} {self.program("vector_add")}'
            result = run(["sh", "-c", command, tool("capture")])
            statuses.append(result.status)
            if result.status == 0:
                self.assertEqual((result.out, result.error), (b"vector_add: ok\n", ""), most)
            else:
                self.assertEqual(result.status, 2, result.text())
                self.assertRegex(result.error, "mneme-capture: error: .*: Too many open files\n", most)
                self.assertNotIn("launched no kernels", result.error)
        self.assertEqual(statuses, sorted(statuses, reverse=True))
        self.assertEqual({*statuses}, {0, 2})

    def test_recording_that_ends_in_the_middle_says_so(self):
        result = self.limited("closes")
        self.assertEqual(len(self.instances(result)), 1)
        self.assertRegex(result.error, "3 launches not recorded: recording had ended: .* closed its connection")

    def test_a_program_that_becomes_another_is_recorded_still(self):
        result = self.limited("goes-on-as-another", options=["--occurrences", "2", "--max-instances", "9"])
        # The first launch of both programs is the same in everything.
        self.assertEqual([i["index"] for i in self.instances(result)], [0, 2, 3, 4])
        self.assertEqual(self.summary(result)["occurrences"][0]["count"], 2)

    def test_network_namespaces(self):
        apart = ["unshare", "--user", "--map-root-user", "--net"]
        if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
            self.skipTest("namespaces are not permitted here")
        folder = tempfile.mkdtemp(dir=self.folder)
        result = self.capture(*apart, self.program("limited"), "plain", env={"TMPDIR": folder})
        self.assertEqual(len(self.instances(result)), 4)
        elsewhere = f"MNEME_CAPTURE_SOCKET=nobody {self.program('limited')} plain"
        missed = self.capture(*apart, "sh", "-c", elsewhere, status=2)
        self.assertIn("limited: ok", missed.error)
        self.assertIn("this process is not recorded: mneme-capture cannot be reached", missed.error)
        self.assertIn("launched no kernels: mneme-capture heard of no process that uses HIP or CUDA", missed.error)
        self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
