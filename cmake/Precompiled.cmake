# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_precompiled(target KIND): the target takes headers that nearly all sources include from a precompiled one. The
# targets of a kind share it. All are compiled with -fPIC, executables too, since clang wants the same flags everywhere.
#
#   plain      the C++ library and {fmt}
#   llvm       that and LLVM's IR, without RTTI
#   test       plain and GoogleTest, at -O0
#   llvm-test  llvm and GoogleTest, at -O0
#
# Sources include what they use all the same: `make lint` compiles each by itself (MNEME_ALONE).
option(MNEME_ALONE "Compile each source by itself, without precompiled headers and unity builds" OFF)

set(mneme_headers_plain
  <fmt/format.h> <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>)
set(mneme_headers_llvm ${mneme_headers_plain}
  <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringSwitch.h> <llvm/Analysis/ValueTracking.h>
  <llvm/IR/CFG.h> <llvm/IR/Dominators.h> <llvm/IR/IRBuilder.h> <llvm/IR/InstIterator.h> <llvm/IR/IntrinsicInst.h>
  <llvm/IR/IntrinsicsAMDGPU.h> <llvm/IR/Module.h> <llvm/IR/Operator.h> <llvm/IR/PassManager.h>
  <llvm/IR/PatternMatch.h> <llvm/Passes/PassBuilder.h> <llvm/Support/SourceMgr.h> <llvm/Support/raw_ostream.h>
  <llvm/Target/TargetMachine.h> <llvm/Transforms/Utils/BasicBlockUtils.h> <llvm/Transforms/Utils/Cloning.h>)
set(mneme_headers_test ${mneme_headers_plain} <gmock/gmock.h> <gtest/gtest.h>)
set(mneme_headers_llvm-test ${mneme_headers_llvm} <llvm/AsmParser/Parser.h> <llvm/IR/Verifier.h> <gmock/gmock.h> <gtest/gtest.h>)

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "")
foreach(kind plain llvm test llvm-test)
  set(owner mneme_headers_${kind})
  if(kind MATCHES "test")
    if(NOT BUILD_TESTING)
      continue()
    endif()
    find_package(GTest REQUIRED)
    set(flags -O0)
    set(libraries GTest::gmock)
  endif()
  if(kind MATCHES "llvm")
    list(APPEND libraries mneme_llvm_headers)
  endif()
  add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_compile_options(${owner} PRIVATE ${flags})
  target_link_libraries(${owner} PRIVATE mneme_options fmt::fmt ${libraries})
  target_precompile_headers(${owner} PRIVATE ${mneme_headers_${kind}})
endforeach()

function(mneme_precompiled target kind)
  if(MNEME_ALONE)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM mneme_headers_${kind})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# mneme_unity(target MOST REGEX…): compiles the target's sources as families, at most MOST of them as one: those whose path
# the first expression matches, then those of the second, and so on; all others by themselves, and so are those with flags
# of their own. Within a family, names in anonymous namespaces differ.
function(mneme_unity target most)
  if(MNEME_ALONE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(family 0)
  foreach(expression IN LISTS ARGN)
    set(count 0)
    foreach(source IN LISTS sources)
      if(source MATCHES "${expression}")
        math(EXPR part "${count} / ${most}")
        math(EXPR count "${count} + 1")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${family}_${part})
        list(REMOVE_ITEM sources ${source})
      endif()
    endforeach()
    math(EXPR family "${family} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
