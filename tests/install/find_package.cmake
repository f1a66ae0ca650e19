# A CMake project that finds the package, links the C++ interface and launches a kernel; and one that wants the launch
# library only.
set(build ${WORK}/find_package)
file(REMOVE_RECURSE ${build})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/consumer_cmake -B ${build} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${PREFIX}
  -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} "-DCMAKE_CXX_FLAGS=${SANITIZE}" "-DCMAKE_C_FLAGS=${SANITIZE}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${build} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${build}/launch_saxpy ${CORPUS}/run_vectors COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${build}/launch_block COMMAND_ERROR_IS_FATAL ANY)
