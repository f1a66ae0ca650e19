// The stack that flatten-calls gives each thread: in local memory, with a pointer, and a place for results.
#pragma once

#include "ir/build.h"

namespace ptx2cpu::lowering {

inline constexpr uint32_t kStackBytes = 16 * 1024;  // per thread; twice CUDA's default and a reserve

constexpr uint32_t RoundUp(uint32_t value, uint32_t align) { return (value + align - 1) / align * align; }

class CallStack {
 protected:
  using Opcode = ir::Opcode;
  using Space = ir::Space;
  using Type = ir::Type;
  using ValueId = ir::ValueId;

  explicit CallStack(ir::Function& f) : f_(f) {}

  void Add() {
    stack_ = AddLocal("call stack", kStackBytes);
    pointer_ = AddLocal("call stack pointer", 16);
    results_ = AddLocal("call results", 16 * 16);
  }
  ValueId Place(ir::Builder& b, uint32_t local, uint32_t offset) {
    return b.Binary(Opcode::kAdd, Type::kI64, b.Symbol(Space::kLocal, local), b.Const(Type::kI64, offset));
  }
  // The mask changes nothing: it shows that what lies in frames is aligned, so that accesses need no check.
  ValueId FrameBase(ir::Builder& b) {
    return b.Binary(Opcode::kAnd, Type::kI64, b.Load(Type::kI64, Space::kLocal, Place(b, pointer_, 0)),
                    b.Const(Type::kI64, ~uint64_t{15}));
  }
  ValueId InFrame(ir::Builder& b, ValueId base, uint32_t offset) {
    return b.Binary(Opcode::kAdd, Type::kI64, base, b.Const(Type::kI64, offset));
  }
  // A predicate takes a word.
  void Put(ir::Builder& b, ValueId address, ValueId value) {
    if (f_.type_of(value) == Type::kI1) value = b.Convert(Opcode::kZext, Type::kI32, value);
    b.Store(f_.type_of(value), Space::kLocal, address, {value});
  }
  ValueId Fetch(ir::Builder& b, ValueId address, Type type) {
    if (type != Type::kI1) return b.Load(type, Space::kLocal, address);
    ValueId word = b.Load(Type::kI32, Space::kLocal, address);
    return b.Icmp(ir::Compare::kNe, word, b.Const(Type::kI32, 0));
  }

  ir::Function& f_;
  uint32_t stack_ = 0, pointer_ = 0, results_ = 0;  // numbers of local variables

 private:
  uint32_t AddLocal(const char* name, uint32_t size) {
    ir::LocalVariable local{name, size, 16, RoundUp(f_.local_bytes, 16)};
    f_.local_bytes = local.offset + size;
    f_.locals.push_back(local);
    return static_cast<uint32_t>(f_.locals.size() - 1);
  }
};

}  // namespace ptx2cpu::lowering
