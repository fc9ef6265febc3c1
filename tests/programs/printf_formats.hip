// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// printf in a kernel: every conversion, flags, widths and precisions, strings that are null or come out of memory, more
// and fewer arguments than the format takes, what it returns. What is printed is caught and compared with what the C
// library makes of the same; each thread's messages come in its own order, and whole.

#include <unistd.h>

#include <map>

#include "check.h"

// CUDA's formats have fewer sizes, and no precision out of an argument; what its printf does not know it leaves as it
// is.
#ifdef __CUDA__
#define SHORT "%hd"
#define SIZE "%lu"
#define PRECISE "%.3f"
#define DIGITS(digits)
#else
#define SHORT "%hhd"
#define SIZE "%zu"
#define PRECISE "%.*f"
#define DIGITS(digits) digits,
#endif

#define MESSAGES(id, text)                                                                                          \
  SAY("%d: integers %d %i %u %o %x %X\n", id, -id, id * 7, 3000000000u + id, id, id, id);                           \
  SAY("%d: flags %+d % d %05d %-5d| %#x %#o %5d|\n", id, id, id, id, id, id, id, id);                               \
  SAY("%d: sizes " SHORT " %hd %ld %lld %llu " SIZE "\n", id, (char)(id + 100), (short)(id * 300), (long)id << 33,  \
      -((long long)id << 40), 1ull << 63, (size_t)(id * 5000000000ul));                                             \
  SAY("%d: floating %f %e %g %.2f %10.3f| %-10.1e| %G %a\n", id, id * 0.5, id * 1e10, id / 3.0, id / 7.0, id / 9.0, \
      id * 1e-7, id * 1e20, id * 0.75);                                                                             \
  SAY("%d: characters %c%c %s %10s| %-6s| %.2s\n", id, 'a' + id % 26, 'z', text, text, "in", "precision");          \
  SAY("%d: stars %*d %-*d| " PRECISE "\n", id, 6, id, 6, id, DIGITS(3) id / 3.0);                                   \
  SAY("%d: percent %% %d%%\n", id, id)

__global__ void speak(const char* texts, int* returned, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  int characters = 0;
  const char* text = texts + id % 3 * 8;
#define SAY(...) characters += printf(__VA_ARGS__)
  MESSAGES(id, text);
#undef SAY
  if (id % 2) characters += printf("%d: odd\n", id);
  for (int i = 0; i < id % 4; ++i) characters += printf("%d: turn %d of %d\n", id, i, id % 4);
  returned[id] = characters;
}

__global__ void mumble(int* returned, const char* nothing) {
  returned[0] = printf("null %s\n", nothing);
  returned[1] = printf("plain\n");
  returned[2] = printf("");
  const char* more = "more %d\n";
  returned[3] = printf(more, 1, 2, 3.0);
  returned[4] = printf("%s%s\n", "", "last");
}

// What a kernel prints while `body` runs.
template <class Body>
std::string caught(Body&& body) {
  std::fflush(stdout);
  std::FILE* file = std::tmpfile();
  int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(file), STDOUT_FILENO);
  body();
  check(hipDeviceSynchronize());
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  std::string text(static_cast<std::size_t>(::lseek(::fileno(file), 0, SEEK_END)), '\0');
  if (::pread(::fileno(file), text.data(), text.size(), 0) < 0) text.clear();
  std::fclose(file);
  return text;
}

// C's printf returns how many characters there are, CUDA's how many arguments its format takes.
#ifdef __CUDA__
constexpr bool kCountsArguments = true;
#else
constexpr bool kCountsArguments = false;
#endif

template <class... T>
int say(std::string& out, const char* format, T... arguments) {
  char text[1000];
  int size = std::snprintf(text, sizeof text, format, arguments...);
  out.append(text, static_cast<std::size_t>(size));
  return kCountsArguments ? static_cast<int>(sizeof...(arguments)) : size;
}

std::string expected(int id, int& characters) {
  const char* texts[] = {"one", "two", "three"};
  std::string out;
#define SAY(...) characters += say(out, __VA_ARGS__)
  MESSAGES(id, texts[id % 3]);
  if (id % 2) SAY("%d: odd\n", id);
  for (int i = 0; i < id % 4; ++i) SAY("%d: turn %d of %d\n", id, i, id % 4);
#undef SAY
  return out;
}

int main() {
  Test test("printf_formats");
  const int n = 150;
  const char texts[24] = "one\0    two\0    three\0 ";
  char* device_texts = to_device(std::vector<char>(texts, texts + sizeof texts));
  int* returned = to_device(std::vector<int>(n, -1));

  std::string text = caught([&] { speak<<<3, 64>>>(device_texts, returned, n); });
  std::map<int, std::string> said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) said[std::atoi(line.c_str())] += line + "\n";
  test.equal("threads that spoke", said.size(), std::size_t{n});
  std::vector<int> want(n);
  for (int id = 0; id < n; ++id) {
    std::string what = expected(id, want[id]);
    test.expect(said[id] == what, "thread " + std::to_string(id) + " said\n" + said[id] + "not\n" + what);
  }
  test.equal("returned", to_host(returned, n), want);

  text = caught([&] { mumble<<<1, 1>>>(returned, nullptr); });
  test.expect(text == "null (null)\nplain\nmore 1\nlast\n", "the second kernel said\n" + text);
  const std::vector<int> characters = {12, 6, 0, 7, 5}, arguments = {1, 0, 0, 1, 2};
  test.equal("returned", to_host(returned, 5), kCountsArguments ? arguments : characters);

  check(hipFree(device_texts));
  check(hipFree(returned));
  return test.finish();
}
