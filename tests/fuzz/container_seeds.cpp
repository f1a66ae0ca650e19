// Writes the seeds of container_fuzzer, one file of every form, into the folder given.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fatbin/file_builder.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: container_seeds DIR\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (const auto& file : ptx2cpu::fatbin_test::OneOfEach()) {
    std::ofstream out(std::filesystem::path(argv[1]) / file.name, std::ios::binary);
    out << file.data;
    if (!out.flush()) {
      std::cerr << "cannot write " << file.name << "\n";
      return 3;
    }
  }
  return 0;
}
