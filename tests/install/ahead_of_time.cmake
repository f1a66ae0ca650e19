# A C program with a kernel compiled ahead of time: object and header from the installed tool, linked without LLVM.
include(${SOURCE}/pkg_config.cmake)
package_flags(ptx2cpu-rt flags)
set(work ${WORK}/ahead_of_time)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
execute_process(COMMAND ${PREFIX}/bin/ptx2cpu compile ${CORPUS}/saxpy.fatbin -o ${work}/ptx2cpu_kernels.o COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${C_COMPILER} -std=c11 ${SANITIZE} -I${work} ${SOURCE}/consumer_c/launch_saxpy.c ${work}/ptx2cpu_kernels.o
  -o ${work}/launch_saxpy ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${work}/launch_saxpy COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ldd ${work}/launch_saxpy OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "LLVM")
  message(FATAL_ERROR "the launch library needs LLVM:\n${libraries}")
endif()
