# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_own_heap(target): for a library that Mneme brings into an application's process. Its `new` is its own (lib/memory/
# own_heap.h), and so is all that uses it: the C++ library and {fmt} come out of archives, and threads of our own stand in for
# oneTBB. It needs no C++ library of the application's then, nor disturbs it by bringing another. Without the archives it
# allocates where the application does: what kernels see of malloc's memory may lie elsewhere from run to run.
if(mneme_has_standalone)
  add_library(mneme_own_new STATIC ${PROJECT_SOURCE_DIR}/lib/memory/own_new.cc ${CMAKE_BINARY_DIR}/standalone/fmt.cc)
  set_target_properties(mneme_own_new PROPERTIES CXX_VISIBILITY_PRESET hidden)
  target_include_directories(mneme_own_new PRIVATE ${PROJECT_SOURCE_DIR}/lib)
endif()

function(mneme_own_heap target)
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)  # threads of it are left
  if(NOT mneme_has_standalone)
    return()
  endif()
  set_target_properties(${target} PROPERTIES MNEME_STANDALONE ON)
  target_link_libraries(${target} PRIVATE mneme_own_new mneme_memory)
  target_link_options(${target} PRIVATE -static-libstdc++ -Wl,--gc-sections)
endfunction()
