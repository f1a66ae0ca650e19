// The functions that a loaded library exports, as the loader finds them: in its dynamic symbol table, in
// memory. Changing a value there changes the result of dlsym and of every later binding; the function itself
// can still be called.
#pragma once

#include <link.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace ptx2cpu::redirect {

// An object that has already bound this name to `from` must be bound to `to`.
struct Rebinding {
  std::string_view name;
  const void* from = nullptr;
  const void* to = nullptr;
};

// The functions that an object defines.
class Offering {
 public:
  // Empty unless one of its functions is named `marker`; that is found by hashing alone.
  Offering(const link_map& object, std::string_view marker);

  bool empty() const { return functions_.empty(); }
  const link_map& object() const { return *object_; }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // All names, in the object's memory.
  std::vector<std::string_view> Names() const;
  // The object's own function; null: it has none of this name.
  template <typename Function>
  void Get(std::string_view name, Function*& function) const {
    function = reinterpret_cast<Function*>(AddressOf(name));
  }
  // From now on the loader returns `replacement` for the function, which must exist.
  template <typename Function>
  void Replace(std::string_view name, Function* replacement, std::vector<Rebinding>& rebindings) const {
    Replace(name, reinterpret_cast<const void*>(replacement), rebindings);
  }

 private:
  struct Function {
    std::string_view name;
    Elf64_Sym* symbol = nullptr;
  };
  const Function* Find(std::string_view name) const;
  void* AddressOf(std::string_view name) const;
  void Replace(std::string_view name, const void* replacement, std::vector<Rebinding>& rebindings) const;

  const link_map* object_;
  std::vector<Function> functions_;
};

void Rebind(const link_map& object, const std::vector<Rebinding>& functions);

// Places for data about objects whose functions are replaced. Our functions receive no data with their calls,
// so each place has a function of its own. An unloaded object leaves its places.
template <typename Kept, size_t kMax>
class Places {
 public:
  Kept& operator[](size_t place) { return kept_[place]; }
  // kMax: none is left.
  size_t Take(const link_map& object) {
    size_t place = 0;
    while (place < kMax && objects_[place] != nullptr && IsLoaded(*objects_[place])) ++place;
    if (place < kMax) objects_[place] = &object;
    return place;
  }
  // Frees the places that an earlier object at this address has left.
  void Leave(const link_map& object) {
    for (const link_map*& each : objects_) each = each == &object ? nullptr : each;
  }

 private:
  static bool IsLoaded(const link_map& object) {
    const link_map* map = _r_debug.r_map;
    while (map != nullptr && map != &object) map = map->l_next;
    return map != nullptr;
  }
  std::array<Kept, kMax> kept_ = {};
  std::array<const link_map*, kMax> objects_ = {};
};

}  // namespace ptx2cpu::redirect
