#include "tools/record/calls/machine.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "tools/record/calls/compare.h"
#include "tools/record/calls/invoke.h"

namespace ptx2cpu::calls {

namespace {

constexpr int kCopyToDevice = 1, kCopyToHost = 2;  // of cudaMemcpyKind
constexpr size_t kDeviceBytes = size_t{128} << 20, kAlignment = 256;

sigjmp_buf before_call;
void Return(int) { siglongjmp(before_call, 1); }

std::vector<std::string> SplitWords(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

void* Machine::Find(const std::string& function) {
  for (void* library : libraries_)
    if (void* address = dlsym(library, function.c_str()); address != nullptr) return address;
  return nullptr;
}

std::byte* Machine::Allocate(bool on_host, size_t bytes) {
  if (on_host) {
    host_memory_.push_back(std::make_unique<std::vector<std::byte>>(bytes + 64));
    return host_memory_.back()->data();
  }
  if (device_memory_ == nullptr) {
    void* const allocate = Find("cudaMalloc");
    void* memory = nullptr;
    if (allocate == nullptr || Status(allocate, &memory, kDeviceBytes) != 0)
      throw std::runtime_error("no device memory");
    device_memory_ = static_cast<std::byte*>(memory);
    device_end_ = device_memory_ + kDeviceBytes;
  }
  std::byte* const place = device_memory_;
  device_memory_ += (bytes + kAlignment) / kAlignment * kAlignment;
  if (device_memory_ > device_end_) throw std::runtime_error("out of device memory");
  return place;
}

void Machine::Store(Array& array, const std::vector<std::byte>& contents) {
  if (array.on_host) {
    std::memcpy(array.address, contents.data(), contents.size());
    return;
  }
  const void* const from = contents.data();
  if (Status(Find("cudaMemcpy"), static_cast<void*>(array.address), from, contents.size(), kCopyToDevice) !=
      0)
    lost_ = true;
}

std::vector<std::byte> Machine::Contents(const Array& array) {
  std::vector<std::byte> contents(array.Bytes());
  if (array.on_host) {
    std::memcpy(contents.data(), array.address, contents.size());
    return contents;
  }
  const void* const from = array.address;
  if (Status(Find("cudaMemcpy"), static_cast<void*>(contents.data()), from, contents.size(), kCopyToHost) !=
      0)
    lost_ = true;
  return contents;
}

Machine::Array& Machine::Named(const std::string& name) {
  const auto found = arrays_.find(name);
  if (found == arrays_.end()) throw std::runtime_error("unknown name " + name);
  return found->second;
}

void Machine::Place(const std::string& name, Array array, const std::vector<std::byte>& contents) {
  const auto old = arrays_.find(name);
  if (old != arrays_.end() && old->second.on_host == array.on_host && old->second.Bytes() >= array.Bytes()) {
    array.address = old->second.address;
  } else {
    array.address = Allocate(array.on_host, array.Bytes());
  }
  array.initial = contents;
  Store(array, contents);
  arrays_[name] = std::move(array);
}

int64_t Machine::Integer(const std::string& word) {
  if (word == "null") return 0;
  const size_t plus = word.find('+', 1);
  const std::string name = word.substr(0, plus);
  const size_t offset = plus == std::string::npos ? 0 : std::stoul(word.substr(plus + 1));
  if (name[0] == '&') return reinterpret_cast<int64_t>(Named(name.substr(1)).address);
  if (name[0] == '*') {
    const Array& array = Named(name.substr(1));
    if (!array.on_host) throw std::runtime_error("not in host memory: " + name);
    const std::byte* const at = array.address + offset * array.type.bytes;
    if (array.type.bytes == sizeof(int64_t) && !array.type.is_float)
      return static_cast<int64_t>(ComponentBits(array.type, at));
    return static_cast<int64_t>(ReadComponent(array.type, at));
  }
  if (std::isdigit(static_cast<unsigned char>(name.back())) != 0 &&
      (std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name[0] == '-'))
    return static_cast<int64_t>(std::stoll(word, nullptr, 0));
  const Array& array = Named(name);
  if (array.type.component == 'h') {
    int64_t handle;
    std::memcpy(&handle, array.address, sizeof handle);
    return handle;
  }
  return reinterpret_cast<int64_t>(array.address) +
         static_cast<int64_t>(offset * array.type.bytes * static_cast<size_t>(array.type.components));
}

void Machine::Make(const Words& words) {
  const ElementType* const type = FindElementType(words.at(2));
  if (type == nullptr) throw std::runtime_error("no type " + words[2]);
  Array array{*type, static_cast<size_t>(Integer(words.at(3))), words[0] == "host", nullptr, {}};
  std::vector<std::byte> contents(array.Bytes());
  const std::string& fill = words.at(4);
  if (fill == "ints" || fill == "reals") {
    FillComponents(*type, fill == "ints" ? Fill::kIntegers : Fill::kFractions, std::stoul(words.at(5)),
                   words.size() > 6 ? std::stoi(words[6]) : 3, contents);
  } else if (fill == "copy") {
    const std::vector<std::byte> from = Contents(Named(words.at(5)));
    std::copy_n(from.begin(), std::min(from.size(), contents.size()), contents.begin());
  } else {
    for (size_t i = 0; i < contents.size() / type->bytes; ++i)
      WriteComponent(*type, std::stod(words.at(std::min(5 + i, words.size() - 1))),
                     &contents[i * type->bytes]);
  }
  Place(words[1], std::move(array), contents);
}

void Machine::MakePointers(const Words& words) {
  const Array from = Named(words.at(2));
  const size_t step = std::stoul(words.at(3)) * from.type.bytes * static_cast<size_t>(from.type.components);
  Array array{*FindElementType("X"), std::stoul(words.at(4)), words[0] == "hostpointers", nullptr, {}};
  std::vector<std::byte> contents(array.Bytes());
  for (size_t i = 0; i < array.count; ++i) {
    const std::byte* const address = from.address + i * step;
    std::memcpy(&contents[i * sizeof address], &address, sizeof address);
  }
  Place(words.at(1), std::move(array), contents);
}

void Machine::SetDiagonal(const Words& words) {
  Array& array = Named(words.at(1));
  const size_t n = std::stoul(words.at(2)), ld = std::stoul(words.at(3));
  const size_t batch = words.size() > 5 ? std::stoul(words[5]) : 1;
  const size_t bytes = array.type.bytes * static_cast<size_t>(array.type.components);
  for (size_t i = 0; i < n * batch; ++i) {
    std::byte* const element = &array.initial.at((i * ld + i % n) * bytes);
    WriteComponent(array.type, std::stod(words.at(4)), element);
    if (array.type.components == 2) WriteComponent(array.type, 0, element + array.type.bytes);
  }
  Store(array, array.initial);
}

void Machine::MakeHermitian(const Words& words) {
  Array& array = Named(words.at(1));
  const size_t n = std::stoul(words.at(2)), ld = std::stoul(words.at(3));
  const ElementType& type = array.type;
  const size_t bytes = type.bytes * static_cast<size_t>(type.components);
  for (size_t column = 0; column < n; ++column) {
    for (size_t row = column; row < n; ++row) {
      const std::byte* const from = &array.initial.at((column * ld + row) * bytes);
      std::byte* const to = &array.initial.at((row * ld + column) * bytes);
      std::memmove(to, from, bytes);
      if (type.components == 2)
        WriteComponent(type, row == column ? 0 : -ReadComponent(type, from + type.bytes), to + type.bytes);
    }
  }
  Store(array, array.initial);
}

void Machine::SetValues(const Words& words) {
  const Array& array = Named(words.at(1));
  if (!array.on_host || (words.size() - 2) * sizeof(int64_t) > array.Bytes())
    throw std::runtime_error("values are for an array of the host that has room for them");
  for (size_t i = 2; i < words.size(); ++i) {
    const int64_t value = Integer(words[i]);
    std::memcpy(array.address + (i - 2) * sizeof value, &value, sizeof value);
  }
}

const std::string* Machine::Next() { return next_ < recorded_->size() ? &(*recorded_)[next_++] : nullptr; }
void Machine::Put(const std::string& line) {
  std::fprintf(output_, "%s\n", line.c_str());
  std::fflush(output_);
}
void Machine::Differ(const std::string& ours, const std::string& theirs) {
  equal_ = false;
  Put(group_ + ":" + std::to_string(line_) + ": " + ours + ", recorded " + theirs);
}

// The words after a function's name.
CallArguments Machine::Arguments(const Words& words) {
  CallArguments arguments;
  size_t integer_count = 0, double_count = 0;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string number = words[i].size() > 2 && words[i][1] == ':' ? words[i].substr(2) : "";
    if (number.empty()) {
      if (integer_count == std::size(arguments.words)) throw std::runtime_error("too many words");
      arguments.words[integer_count++] = Integer(words[i]);
      continue;
    }
    if (double_count == std::size(arguments.doubles)) throw std::runtime_error("too many numbers");
    double& to = arguments.doubles[double_count++];
    size_t end = 0;
    to = std::stod(number, &end);
    if (words[i][0] == 'f') to = FloatsInRegister(static_cast<float>(to));
    if (words[i][0] == 'c') to = FloatsInRegister(static_cast<float>(to), std::stof(number.substr(end + 1)));
  }
  return arguments;
}

void Machine::Call(const Words& words) {
  const std::string& name = words.at(1);
  const std::string* const record = recorded_ == nullptr ? nullptr : Next();
  call_differs_ = false;
  last_call_.clear();
  for (size_t i = 1; i < words.size(); ++i) last_call_ += (i > 1 ? " " : "") + words[i];
  if (recorded_ != nullptr && (record == nullptr || !record->starts_with(name + " "))) {
    lost_ = true;
    return Differ(last_call_, record == nullptr ? "nothing: record again" : *record + ": record again");
  }
  // What ended the recording process, or its use of the device, is not repeated.
  if (record != nullptr && record->ends_with(" crash")) return;
  if (record != nullptr && record->find(" cuda:") != std::string::npos) {
    lost_ = true;
    return;
  }
  const CallArguments arguments = Arguments(words);
  void* const function = Find(name);
  std::string answer;
  if (function == nullptr) {
    answer = "missing";
  } else if (sigsetjmp(before_call, 1) != 0) {
    answer = "crash";
  } else {
    answer = AnswerOf(words[0], function, arguments);
    const int error = Status(Find("cudaDeviceSynchronize"));
    if (error != 0) {
      answer += " cuda:" + std::to_string(error);
      lost_ = true;
    }
  }
  if (record == nullptr) return Put(name + " " + answer);
  if (*record != name + " " + answer) {
    call_differs_ = true;
    Differ(last_call_ + " " + answer, record->substr(name.size() + 1));
  }
}

void Machine::Show(const Words& words) {
  const Array& array = Named(words.at(1));
  const std::string bound = words.size() > 2 ? words[2] : "exact";
  const size_t bytes = array.type.bytes;
  std::vector<std::byte> contents = Contents(array), initial = array.initial;
  if (words.size() > 3) {
    const size_t wanted =
        static_cast<size_t>(Integer(words[3])) * bytes * static_cast<size_t>(array.type.components);
    contents.resize(wanted);
    initial.resize(wanted);
  }
  if (recorded_ == nullptr) {
    std::string line = "  " + words[1];
    size_t unchanged = 0;
    auto flush = [&] {
      if (unchanged > 0) line += " ." + std::to_string(unchanged);
      unchanged = 0;
    };
    for (size_t at = 0; at < contents.size(); at += bytes) {
      if (std::memcmp(&contents[at], &initial[at], bytes) == 0) {
        ++unchanged;
        continue;
      }
      flush();
      line += " " + ComponentText(array.type, &contents[at]);
    }
    flush();
    return Put(line);
  }
  const std::string* const record = Next();
  if (record == nullptr) {
    lost_ = true;
    return Differ("show " + words[1], "nothing: record again");
  }
  std::vector<std::byte> theirs = initial;
  size_t at = 0;
  const Words recorded = SplitWords(*record);
  for (size_t i = 1; i < recorded.size() && at < theirs.size(); ++i) {
    if (recorded[i][0] == '.') {
      at += std::stoul(recorded[i].substr(1)) * bytes;
    } else {
      ReadComponentText(array.type, recorded[i], &theirs[at]);
      at += bytes;
    }
  }
  if (recorded[0] != words[1] || at != theirs.size()) {
    lost_ = true;
    return Differ("show " + words[1], *record + ": record again");
  }
  if (call_differs_) return;
  if (const std::string difference = Difference(array.type, bound, contents, theirs); !difference.empty())
    Differ(words[1] + " after " + last_call_, difference);
}

void Machine::Peek(const Words& words) {
  const ElementType* const type = FindElementType(words.at(2));
  const auto* const from = reinterpret_cast<const unsigned char*>(Integer(words.at(1)));
  if (type == nullptr) throw std::runtime_error("no type " + words[2]);
  uint64_t hash = 0xcbf29ce484222325;
  const size_t bytes = std::stoul(words.at(3)) * type->bytes;
  if (from != nullptr)
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ from[i]) * 0x100000001b3;
  const std::string line = "  " + words[1] + " hash " + std::to_string(hash);
  if (recorded_ == nullptr) return Put(line);
  const std::string* const record = Next();
  if ((record == nullptr || *record != line) && !call_differs_)
    Differ(line, record == nullptr ? "nothing: record again" : *record);
}

bool Machine::Step(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "use") {
    void* const library = dlopen(words.at(1).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    libraries_.push_back(library);
  } else if (verb == "handle") {
    for (size_t i = 1; i < words.size(); ++i)
      Place(words[i], {{'h', 1, sizeof(int64_t), false, 0}, 1, true, nullptr, {}}, std::vector<std::byte>(8));
  } else if (verb == "device" || verb == "host") {
    Make(words);
  } else if (verb == "pointers" || verb == "hostpointers") {
    MakePointers(words);
  } else if (verb == "diagonal") {
    SetDiagonal(words);
  } else if (verb == "hermitian") {
    MakeHermitian(words);
  } else if (verb == "values") {
    SetValues(words);
  } else if (IsCallVerb(verb)) {
    Call(words);
  } else if (verb == "show") {
    Show(words);
  } else if (verb == "peek") {
    Peek(words);
  } else if (verb == "ignore") {
    Array& array = Named(words.at(1));
    array.initial = Contents(array);
  } else {
    throw std::runtime_error("no statement " + verb);
  }
  return !lost_;
}

bool Machine::Run(const Group& group) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) {
    struct sigaction action = {};
    action.sa_handler = Return;
    action.sa_flags = SA_NODEFER;
    sigaction(number, &action, nullptr);
  }
  group_ = group.name;
  for (const Statement& statement : group.statements) {
    line_ = statement.line;
    try {
      if (!Step(statement.words)) break;
    } catch (const std::exception& error) {
      Put(group_ + ":" + std::to_string(line_) + ": " + error.what());
      return false;
    }
  }
  return equal_;
}

}  // namespace ptx2cpu::calls
