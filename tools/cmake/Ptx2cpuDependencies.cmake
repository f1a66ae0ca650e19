# Third-party packages, all from Debian 12 apt. LLVM 19 must be requested as 19.1:
# plain 19 is rejected by its version file and no version may pick LLVM 14.
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_path(ZSTD_INCLUDE zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
find_path(LZ4_INCLUDE lz4.h REQUIRED)
find_library(LZ4_LIBRARY lz4 REQUIRED)
find_path(ZLIB_INCLUDE zlib.h REQUIRED)
find_library(ZLIB_LIBRARY z REQUIRED)
find_path(XSIMD_INCLUDE xsimd/xsimd.hpp REQUIRED)

# The packaged ANTLR CMake config is broken; find the pieces ourselves.
find_program(ANTLR4_TOOL antlr4 REQUIRED)
find_path(ANTLR4_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_LIBRARY antlr4-runtime REQUIRED)

if(PTX2CPU_LLVM)
  find_package(LLVM 19.1 CONFIG REQUIRED)
  find_program(CLANG19 clang++-19 REQUIRED)
endif()
if(PTX2CPU_LLVM)
  add_library(ptx2cpu_llvm_headers INTERFACE)
  target_include_directories(ptx2cpu_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
  add_library(ptx2cpu_llvm INTERFACE)
  target_link_libraries(ptx2cpu_llvm INTERFACE ptx2cpu_llvm_headers LLVM)
endif()
