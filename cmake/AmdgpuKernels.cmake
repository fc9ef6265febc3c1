# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_amdgpu_kernels(SOURCE OUTPUT DEPENDS…): compiles kernels of our own, which need no vendor's header, for AMD's GPUs:
# one file with an offload bundle of code for each kernel (lib/objects/code_pack.h). Any other processor has none. The
# stand-in for AMD's runtime executes the IR in the code for gfx90a.
set(mneme_amdgpu_processors gfx900 gfx906 gfx908 gfx90a gfx940 gfx942 gfx1030 gfx1100
  gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic)
function(mneme_amdgpu_kernels source output)
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(name ${source} NAME)
  add_custom_command(OUTPUT ${output}.bc
    COMMAND ${MNEME_CLANG} -x hip --offload-device-only --offload-arch=gfx90a -nogpuinc -nogpulib -fuse-cuid=none
            -std=c++20 -Wall -Wextra -Werror -Wno-pass-failed -O1 -ffp-contract=off -emit-llvm -c ${name} -o ${output}.bc
    WORKING_DIRECTORY ${folder}  # so that the bitcode names no folder
    DEPENDS ${source} ${ARGN} VERBATIM)
  foreach(processor ${mneme_amdgpu_processors})
    set(embeds)
    if(processor STREQUAL gfx90a)
      set(embeds --embed-ir)
    endif()
    add_custom_command(OUTPUT ${output}.${processor}
      COMMAND compile_kernels ${embeds} hip:${processor} ${output}.bc ${output}.${processor} 64
      DEPENDS compile_kernels ${output}.bc VERBATIM)
    list(APPEND packs ${output}.${processor})
    list(APPEND named ${processor}=${output}.${processor})
  endforeach()
  add_custom_command(OUTPUT ${output} COMMAND compile_kernels --bundle ${output} ${named}
    DEPENDS compile_kernels ${packs} VERBATIM)
endfunction()
