# The Debian package, made by CPack of what `cmake --install` installs (tools/package), and the target that builds no more than that.

# All shared libraries of a folder and those below it.
function(ptx2cpu_shared_libraries folder out)
  set(found ${${out}})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(sub ${below})
    ptx2cpu_shared_libraries(${sub} found)
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
set(contents)
ptx2cpu_shared_libraries(${PROJECT_SOURCE_DIR} contents)
foreach(target ptx2cpu ptx2cpu_manual ptx2cpu_bundle ptx2cpu_runtime)
  if(TARGET ${target})
    list(APPEND contents ${target})
  endif()
endforeach()
add_custom_target(package_contents DEPENDS ${contents})
# CPack installs, and does not build all of the tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ptx2cpu)
set(CPACK_PACKAGE_VENDOR ptx2cpu)
set(CPACK_PACKAGE_CONTACT "The authors of ptx2cpu <ptx2cpu@localhost>")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Runs unmodified CUDA programs on machines without a GPU: it extracts the
PTX from the executable, translates it to native vector code, and
implements the CUDA runtime, the driver API and the common libraries in
the program's process. Contains the command line tool, the libraries that
programs load, the C++ and C interfaces, manual page and completion.")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Libraries that the objects name; cuBLAS and cuFFT load theirs at the first call. The run path of the verbs leads to LLVM's
# development package, from which dpkg-shlibdeps does not always come to this one.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libllvm${LLVM_VERSION_MAJOR})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ptx2cpu)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0-pthread, libfftw3-single3, libfftw3-double3")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gdb, graphviz, libfmt-dev, libzstd-dev, liblz4-dev, zlib1g-dev")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/cmake/FinishPackage.cmake)
set(CPACK_PTX2CPU_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PTX2CPU_LLVM ${LLVM_VERSION_MAJOR})
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
