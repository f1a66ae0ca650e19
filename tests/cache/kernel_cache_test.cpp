// Entries on disk: those that are read, refused and removed; errors with files never show.
#include "runtime/engine/cache/kernel_cache.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/cache/scratch.h"

using namespace ptx2cpu;
using cache_test::Scratch;
namespace fs = std::filesystem;

namespace {

rt::Digest KeyOf(uint64_t number) { return rt::ContentHash().Add(number).Finish(); }
std::string Content(uint64_t number, size_t size = 1000) {
  return std::to_string(number) + std::string(size, static_cast<char>('a' + number % 26));
}

fs::path FileOf(const fs::path& directory, uint64_t number) {
  const std::string hex = rt::Hex(KeyOf(number));
  return directory / hex.substr(0, 2) / hex.substr(2);
}

// In a child, so that the limits and the user it sets are its own. What it returns is the exit status.
int InChild(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("digests are those of BLAKE2b with 32 bytes") {
  // Appendix E of RFC 7693 has a program that hashes such inputs; the digests here are another
  // implementation's.
  const std::pair<size_t, const char*> kKnown[] = {
      {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
      {127, "f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72"},
      {128, "c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1"},
      {129, "f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9"},
      {1000, "c636324d47d89f2b2434dc2c994100663fbbaea880ff020fc5de89dd0f77a1ec"}};
  for (const auto& [size, digest] : kKnown) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i);
    CHECK(rt::Hex(rt::ContentHash().AddBytes(bytes).Finish()) == digest);
    rt::ContentHash by_parts;
    for (size_t i = 0; i < size; i += 7) by_parts.AddBytes(std::string_view(bytes).substr(i, 7));
    CHECK(rt::Hex(by_parts.Finish()) == digest);
  }
  CHECK(rt::ContentHash().Add("ab").Add("c").Finish() != rt::ContentHash().Add("a").Add("bc").Finish());
}

TEST_CASE("what was kept is found, by another cache object too") {
  const Scratch scratch;
  rt::KernelCache cache({.directory = scratch / "made" / "here"});
  CHECK_FALSE(cache.Find(KeyOf(1)));
  cache.Keep(KeyOf(1), Content(1));
  cache.Keep(KeyOf(2), "");
  CHECK(cache.Find(KeyOf(1)) == Content(1));
  CHECK(cache.Find(KeyOf(2)) == "");
  rt::KernelCache other({.directory = scratch / "made" / "here"});
  CHECK(other.Find(KeyOf(1)) == Content(1));
  CHECK_FALSE(other.Find(KeyOf(3)));
  CHECK(other.counts().hits == 1);
  struct stat status{};
  REQUIRE(stat((scratch / "made" / "here").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("a damaged entry is removed and may be written again") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  for (const std::string damage : {"truncated", "flipped", "longer", "other key", "empty", "header"}) {
    INFO(damage);
    rt::KernelCache cache({.directory = directory});
    cache.Keep(KeyOf(1), Content(1));
    const fs::path file = FileOf(directory, 1);
    std::string bytes = cache_test::Bytes(file);
    if (damage == "truncated") bytes.resize(bytes.size() / 2);
    if (damage == "flipped") bytes[bytes.size() - 5] ^= 1;
    if (damage == "longer") bytes += "x";
    if (damage == "empty") bytes.clear();
    if (damage == "header") bytes[8] ^= 1;
    if (damage == "other key") {
      cache.Keep(KeyOf(2), Content(2));
      bytes = cache_test::Bytes(FileOf(directory, 2));
    }
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    CHECK_FALSE(cache.Find(KeyOf(1)));
    CHECK_FALSE(fs::exists(file));
    CHECK(cache.counts().damaged == 1);
    cache.Keep(KeyOf(1), Content(1));
    CHECK(cache.Find(KeyOf(1)) == Content(1));
  }
}

TEST_CASE("files that others may write, links and pipes are not read and not touched") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  rt::KernelCache cache({.directory = directory});
  cache.Keep(KeyOf(1), Content(1));
  const fs::path file = FileOf(directory, 1);
  SECTION("writable by the group") { REQUIRE(chmod(file.c_str(), 0660) == 0); }
  SECTION("writable by all") { REQUIRE(chmod(file.c_str(), 0602) == 0); }
  SECTION("a link") {
    fs::rename(file, scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", file);
  }
  SECTION("a pipe") {
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  }
  SECTION("a directory") {
    fs::remove(file);
    fs::create_directory(file);
  }
  SECTION("another user's") {
    if (geteuid() != 0) return;  // only root can give a file away
    REQUIRE(chown(file.c_str(), 12345, 12345) == 0);
  }
  CHECK_FALSE(cache.Find(KeyOf(1)));
  CHECK(cache.counts().refused == 1);
  CHECK(fs::exists(fs::symlink_status(file)));
}

TEST_CASE("a directory that others may write is not used") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  fs::create_directory(directory);
  REQUIRE(chmod(directory.c_str(), 0777) == 0);
  rt::KernelCache cache({.directory = directory});
  cache.Keep(KeyOf(1), Content(1));
  CHECK_FALSE(cache.Find(KeyOf(1)));
  CHECK(fs::is_empty(directory));
}

TEST_CASE("what was used longest ago goes first, and the bound holds") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  constexpr uint64_t kMax = 64 * 1024;
  rt::KernelCache cache({.directory = directory, .most_bytes = kMax});
  for (uint64_t i = 0; i < 200; ++i) {
    cache.Keep(KeyOf(i), Content(i));
    CHECK(cache.Find(KeyOf(0)) == Content(0));  // used again and again: stays
  }
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  CHECK(bytes <= kMax);
  CHECK(bytes > kMax / 2);
  CHECK(cache.counts().evicted > 100);
  CHECK(cache.Find(KeyOf(199)));
  CHECK_FALSE(cache.Find(KeyOf(1)));
  cache.Keep(KeyOf(1000), Content(1, kMax + 1));  // more than all: not kept, nothing thrown out for it
  CHECK_FALSE(cache.Find(KeyOf(1000)));
  CHECK(cache.Find(KeyOf(199)));
}

TEST_CASE("unfinished files of dead writers go, young ones stay") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  rt::KernelCache({.directory = directory}).Keep(KeyOf(1), Content(1));
  const fs::path folder = FileOf(directory, 1).parent_path();
  std::ofstream(folder / ".unfinished-1-1") << "old";
  std::ofstream(folder / ".unfinished-2-1") << "young";
  fs::last_write_time(folder / ".unfinished-1-1", fs::file_time_type::clock::now() - std::chrono::hours(2));
  rt::KernelCache({.directory = directory}).Keep(KeyOf(2), Content(2));
  CHECK_FALSE(fs::exists(folder / ".unfinished-1-1"));
  CHECK(fs::exists(folder / ".unfinished-2-1"));
}

TEST_CASE("making room leaves files alone that are not entries") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  rt::KernelCache({.directory = directory}).Keep(KeyOf(1), Content(1));
  const std::string hex = rt::Hex(KeyOf(77));
  std::vector<fs::path> others = {
      directory / "ab" / "0123456789012345678901234567890123456789",  // of a version control system
      directory / "ab" / hex.substr(2),                               // an entry's name, not its content
      directory / "de" / "strings.po",                                // a language
      directory / "ab" / ".unfinished-business",                      // begins as ours do
      FileOf(directory, 1).parent_path() / "notes",                   // in a folder of ours
      directory / "zz" / hex.substr(2),
      directory / "AB" / hex.substr(2)  // no digits
  };
  for (const fs::path& path : others) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(20000, 'x');
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  }
  // An entry under another entry's name is not what that name's writer wrote.
  const fs::path moved = FileOf(directory, 500);
  fs::create_directories(moved.parent_path());
  fs::copy_file(FileOf(directory, 1), moved);
  others.push_back(moved);
  rt::KernelCache cache({.directory = directory, .most_bytes = 32 * 1024});
  for (uint64_t i = 2; i < 100; ++i) cache.Keep(KeyOf(i), Content(i));
  CHECK(cache.counts().evicted > 50);
  for (const fs::path& path : others) {
    INFO(path);
    CHECK(fs::exists(path));
  }
}

TEST_CASE("a program that closes all descriptors finds no entry in its own directory") {
  const Scratch scratch;
  fs::create_directory(scratch / "own");
  rt::KernelCache cache({.directory = scratch / "cache"});
  cache.Keep(KeyOf(1), Content(1));
  const int result = InChild([&] {
    for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
    for (int i = 0; i < 64; ++i)  // takes the number, whichever it was
      if (open((scratch / "own").c_str(), O_RDONLY | O_DIRECTORY) < 0) return 2;
    cache.Keep(KeyOf(2), Content(2));
    if (!fs::is_empty(scratch / "own")) return 3;
    return cache.Find(KeyOf(1)) == Content(1) && cache.Find(KeyOf(2)) == Content(2) ? 0 : 4;
  });
  CHECK(result == 0);
}

TEST_CASE("a relative directory stays where it was") {
  const Scratch scratch;
  fs::create_directory(scratch / "elsewhere");
  const int result = InChild([&] {
    if (chdir(scratch.path().c_str()) != 0) return 2;
    rt::KernelCache cache({.directory = "cache"});
    if (chdir((scratch / "elsewhere").c_str()) != 0) return 2;
    cache.Keep(KeyOf(1), Content(1));
    return fs::exists(FileOf(scratch / "cache", 1)) && fs::is_empty(scratch / "elsewhere") ? 0 : 3;
  });
  CHECK(result == 0);
}

TEST_CASE("a read-only directory gives hits and takes nothing") {
  const Scratch scratch;
  const fs::path directory = scratch / "cache";
  rt::KernelCache({.directory = directory}).Keep(KeyOf(1), Content(1));
  const auto reads = [&] {
    rt::KernelCache cache({.directory = directory});
    cache.Keep(KeyOf(2), Content(2));
    rt::KernelCache nowhere({.directory = scratch / "locked" / "a" / "b"});
    nowhere.Keep(KeyOf(1), Content(1));
    return cache.Find(KeyOf(1)) == Content(1) && !cache.Find(KeyOf(2)) && !nowhere.Find(KeyOf(1)) ? 0 : 1;
  };
  fs::create_directory(scratch / "locked");
  for (const fs::path& path : {directory, FileOf(directory, 1).parent_path(), scratch / "locked"})
    REQUIRE(chmod(path.c_str(), 0500) == 0);
  if (geteuid() == 0) {  // root writes anywhere: another user owns all of it and asks
    for (const fs::path& path : {fs::path(scratch.path()), directory, FileOf(directory, 1).parent_path(),
                                 FileOf(directory, 1), scratch / "locked"}) {
      REQUIRE(chown(path.c_str(), 12345, 12345) == 0);
    }
    CHECK(InChild([&] { return setgid(12345) != 0 || setuid(12345) != 0 ? 2 : reads(); }) == 0);
  } else {
    CHECK(reads() == 0);
  }
  for (const fs::path& path : {directory, FileOf(directory, 1).parent_path(), scratch / "locked"})
    chmod(path.c_str(), 0700);
}

TEST_CASE("a limit on file sizes ends no process") {
  const Scratch scratch;
  const int result = InChild([&] {
    const rlimit limit{512, 512};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    rt::KernelCache cache({.directory = scratch / "cache"});
    cache.Keep(KeyOf(1), Content(1));
    cache.Keep(KeyOf(2), Content(2, 10));
    return !cache.Find(KeyOf(1)) && cache.Find(KeyOf(2)) == Content(2, 10) ? 0 : 1;
  });
  CHECK(result == 0);
}

TEST_CASE("a full disk loses entries and nothing else") {
  const Scratch scratch;
  const fs::path disk = scratch / "disk";
  fs::create_directory(disk);
  // Mounting needs privileges; /dev/full does not, but is no directory.
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k,mode=700") != 0) {
    WARN("no tmpfs can be mounted here: not tested");
    return;
  }
  {
    rt::KernelCache cache({.directory = disk / "cache"});
    for (uint64_t i = 0; i < 20; ++i) cache.Keep(KeyOf(i), Content(i, 10000));
    int found = 0;
    for (uint64_t i = 0; i < 20; ++i) {
      const auto content = cache.Find(KeyOf(i));
      if (content) CHECK(*content == Content(i, 10000));
      found += content.has_value();
    }
    CHECK(found > 0);
    CHECK(found < 20);
    CHECK(cache.counts().damaged == 0);
    for (const auto& entry : fs::recursive_directory_iterator(disk))
      CHECK(entry.path().filename().string().find("unfinished") == std::string::npos);
  }
  CHECK(umount(disk.c_str()) == 0);
}

TEST_CASE("many processes write, read and throw out at once") {
  const Scratch scratch;
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      rt::KernelCache cache({.directory = scratch / "cache", .most_bytes = 32 * 1024});
      int wrong = 0;
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t number = (i * 7 + static_cast<uint64_t>(child)) % 50;
        cache.Keep(KeyOf(number), Content(number));
        const auto content = cache.Find(KeyOf((i * 3) % 50));
        wrong += content && *content != Content((i * 3) % 50);
      }
      _exit(wrong + cache.counts().damaged != 0 ? 1 : 0);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

TEST_CASE("the environment sets the directory") {
  for (const char* name : {"CUDA_CACHE_DISABLE", "CUDA_CACHE_PATH", "CUDA_CACHE_MAXSIZE", "XDG_CACHE_HOME"})
    unsetenv(name);
  setenv("HOME", "/home/somebody", 1);
  CHECK(rt::KernelCache::FromEnvironment().directory == "/home/somebody/.cache/ptx2cpu");
  CHECK(rt::KernelCache::FromEnvironment().most_bytes == uint64_t{1} << 30);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  CHECK(rt::KernelCache::FromEnvironment().directory == "/xdg/ptx2cpu");
  setenv("CUDA_CACHE_PATH", "/given", 1);
  setenv("CUDA_CACHE_MAXSIZE", "12345", 1);
  CHECK(rt::KernelCache::FromEnvironment().directory == "/given/ptx2cpu");
  CHECK(rt::KernelCache::FromEnvironment().most_bytes == 12345);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  CHECK(rt::KernelCache::FromEnvironment().directory.empty());
  for (const char* name : {"CUDA_CACHE_PATH", "CUDA_CACHE_MAXSIZE", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
  setenv("CUDA_CACHE_DISABLE", "0", 1);
  CHECK(rt::KernelCache::FromEnvironment().directory.empty());
  setenv("CUDA_CACHE_DISABLE", "1", 1);
}
