// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How sections of ours get through PTX into a cubin. PTX has no sections; a variable would be loaded onto the GPU, and
// take a place in the table of addresses that code is compiled against. So what the sections hold stands in PTX as
// comments,
//   //mneme SECTION HEXADECIMAL
// one or more lines each, and what stands for ptxas (ptxas.cc) moves it from there to the cubin.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace mneme::inject {

// What to put into PTX.
std::string carried_lines(std::string_view section, std::string_view contents);

// Whether there are such lines in it.
bool carries(std::string_view ptx);

// Takes such lines out of `ptx`; gives the sections' contents, in the lines' order, by name. Throws Error where a line
// is malformed.
std::map<std::string, std::string> take_carried(std::string& ptx);

}  // namespace mneme::inject
