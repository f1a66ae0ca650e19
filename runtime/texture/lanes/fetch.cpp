// The results of tex and tld4 for the lanes of a warp, a vector at a time if the texture is a line, a plane,
// a volume or layers of one level; other fetches, and lanes that meet infinities or NaN in a filter, go lane
// by lane. Bit for bit that of ptx2cpu_texture_fetch (tests/runtime/texture_lanes_test.cpp compares).
#include "runtime/texture/lanes/fetch.h"

#include "runtime/abi/abi.h"
#include "runtime/texture/lanes/coordinates.h"
#include "runtime/texture/lanes/filter.h"
#include "runtime/texture/lanes/texels.h"

namespace ptx2cpu::texture::PTX2CPU_LANES {

namespace {

constexpr int kMaxWords = 16;

// The number of coordinates of a fetch, by geometry.
constexpr uint32_t kDimensions[] = {1, 2, 3, 1, 2, 3, 3};
constexpr bool kHasLayer[] = {false, false, false, true, true, false, true};

int WordCount(uint32_t fetch) {
  const uint32_t geometry = fetch & PTX2CPU_FETCH_GEOMETRY, dimensions = kDimensions[geometry];
  return static_cast<int>((kHasLayer[geometry] ? 1 : 0) + dimensions +
                          ((fetch & PTX2CPU_FETCH_LEVEL) != 0 ? 1 : 0) +
                          ((fetch & PTX2CPU_FETCH_GRADIENT) != 0 ? 2 * dimensions : 0) +
                          ((fetch & PTX2CPU_FETCH_OFFSET) != 0 ? dimensions : 0));
}

void FetchEach(const ptx2cpu_texture& t, uint32_t fetch, uint32_t lanes, const uint32_t* words,
               uint32_t* result) {
  const int count = WordCount(fetch);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    uint32_t in[kMaxWords], out[4];
    for (int i = 0; i < count; ++i) in[i] = words[i * kLanes + lane];
    ptx2cpu_texture_fetch(&t, 0, fetch, in, out);
    for (int i = 0; i < 4; ++i) result[i * kLanes + lane] = out[i];
  }
}

// A fetch that vectors can do.
struct Plan {
  const ptx2cpu_texture& texture;
  const ptx2cpu_image_level& level;
  TexelRules rules;
  Layout layout;
  uint32_t geometry, dimensions;
  bool layered;  // the image has layers
  bool filters = false;
  bool bordered = false;  // some axis has a border
  Axis axis[3] = {};
  BorderValues border = {};
};

uint32_t Extent(const ptx2cpu_image_level& level, uint32_t dimension) {
  return dimension == 0 ? level.width : dimension == 1 ? level.height : level.depth;
}

bool IsLayered(uint32_t shape) { return shape >= PTX2CPU_SHAPE_1D_LAYERED; }

// Offsets of 32 bits reach every texel, and narrow ones do not cross words.
bool IsReachable(const Plan& p) {
  constexpr uint64_t kLimit = uint64_t{1} << 31;
  const ptx2cpu_image_level& at = p.level;
  const uint64_t slices = p.layered ? p.texture.image.layers : at.depth;
  if (at.pitch >= kLimit || at.slice >= kLimit || slices >= kLimit) return false;
  if (at.height >= kLimit) return false;
  const uint64_t row = uint64_t{at.width} * p.layout.texel_bytes;
  if (at.height == 0 || slices == 0 || (at.height - 1) * at.pitch + (slices - 1) * at.slice + row >= kLimit)
    return false;
  return p.layout.texel_bytes != 2 || ((reinterpret_cast<uint64_t>(at.base) | at.pitch | at.slice) & 1) == 0;
}

bool IsPlannable(const ptx2cpu_texture& t, uint32_t fetch) {
  const uint32_t geometry = fetch & PTX2CPU_FETCH_GEOMETRY;
  return geometry < PTX2CPU_GEOMETRY_CUBE && (fetch & PTX2CPU_FETCH_OFFSET) == 0 && t.image.levels == 1 &&
         t.srgb == 0;
}

bool MakeAxes(Plan& p) {
  const ptx2cpu_texture& t = p.texture;
  for (uint32_t d = 0; d < 3; ++d) {
    const uint32_t size = Extent(p.level, d);
    if (size > kLargestAxis || size == 0) return false;
    const bool normalized = t.normalized != 0;
    const bool border = t.address[d] == PTX2CPU_ADDRESS_BORDER;
    p.axis[d] = {static_cast<int32_t>(size),
                 normalized || border ? t.address[d] : uint32_t{PTX2CPU_ADDRESS_CLAMP}, normalized};
  }
  // To the filter a line is a plane of one row, read at coordinate 0, halfway to the border if y has one.
  if (p.filters && p.dimensions == 1 && !p.layered && p.axis[1].mode == PTX2CPU_ADDRESS_BORDER) {
    p.dimensions = 2;
    p.axis[1].size = 1;
  }
  for (uint32_t d = 0; d < p.dimensions; ++d) p.bordered |= p.axis[d].mode == PTX2CPU_ADDRESS_BORDER;
  if (p.bordered) FindBorders(t, p.border);
  return true;
}

struct Operands {
  Floats coordinate[3];
  Words layer;
};

// Inactive lanes read what the first one reads: nothing that no lane reads is touched.
PTX2CPU_INLINE Words Operand(const uint32_t* words, int number, uint32_t lanes) {
  const Words all = Load<Words>(words + number * kLanes);
  if (lanes == ~0u) return all;
  return MaskOf(lanes) ? all : Words{} + words[number * kLanes + __builtin_ctz(lanes)];
}

PTX2CPU_INLINE Operands Sort(const Plan& p, const uint32_t* words, uint32_t lanes) {
  Operands o;
  int number = 0;
  if (kHasLayer[p.geometry]) o.layer = Operand(words, number++, lanes);
  for (uint32_t d = 0; d < kDimensions[p.geometry]; ++d)
    o.coordinate[d] = As<Floats>(Operand(words, number++, lanes));
  if (p.dimensions > kDimensions[p.geometry]) o.coordinate[1] = Floats{};
  return o;
}

// Bytes to the layer that is read; numbers beyond the last one mean it.
PTX2CPU_INLINE Ints SliceOffset(const Plan& p, const Operands& o) {
  if (!p.layered || !kHasLayer[p.geometry]) return Ints{};
  return Convert<Ints>(Least(o.layer, Words{} + (p.texture.image.layers - 1))) *
         static_cast<int32_t>(p.level.slice);
}

PTX2CPU_INLINE int32_t Step(const Plan& p, uint32_t dimension) {
  return static_cast<int32_t>(dimension == 0   ? p.layout.texel_bytes
                              : dimension == 1 ? p.level.pitch
                                               : p.level.slice);
}

PTX2CPU_INLINE void StoreMissing(const Plan& p, uint32_t* result) {
  for (uint32_t c = p.layout.channels; c < 4; ++c) Store(Words{}, result + c * kLanes);
}

void FetchPoint(const Plan& p, const Operands& o, uint32_t* result) {
  Ints offset = SliceOffset(p, o), outside{};
  for (uint32_t d = 0; d < p.dimensions; ++d) {
    Ints beyond;
    offset += PointIndex(p.axis[d], o.coordinate[d], beyond) * Step(p, d);
    outside |= beyond;
  }
  RawTexel raw;
  ReadRaw(p.layout, p.level.base, offset, raw);
  for (uint32_t c = 0; c < p.layout.channels; ++c) {
    Words value = ChannelValue(p.layout.channel, p.texture.as_float != 0, RawChannel(p.layout, raw, c));
    if (p.bordered) value = outside ? Words{} + p.border.read[c] : value;
    Store(value, result + c * kLanes);
  }
  StoreMissing(p, result);
}

// -- filters --

struct Corner {
  Ints offset, outside, weight;
};
struct Corners {
  Corner at[8];
  int groups, count;  // in each group
};

PTX2CPU_INLINE Ints Part(const Ints& whole, const Ints& weight) {
  return (whole * weight + kWeightOne / 2) >> kWeightBits;
}

// Adds the texels of a plane that have a weight in some lane: the first, and its neighbours where a lane is
// between texels.
PTX2CPU_INLINE void AddPlane(const Plan& p, const Neighbours* n, uint32_t between, const Ints& whole,
                             const Corner& base, Corner* to) {
  const Ints right = (between & 1) != 0 ? Part(whole, n[0].weight) : Ints{}, left = whole - right;
  const auto add_row = [&](int y, const Ints& left_weight, const Ints& right_weight) {
    Corner row = base;
    if (p.dimensions > 1) {
      row.offset += n[1].index[y] * Step(p, 1);
      row.outside |= n[1].outside[y];
    }
    *to++ = {row.offset + n[0].index[0] * Step(p, 0), row.outside | n[0].outside[0], left_weight};
    if ((between & 1) != 0)
      *to++ = {row.offset + n[0].index[1] * Step(p, 0), row.outside | n[0].outside[1], right_weight};
  };
  if ((between & 2) == 0) return add_row(0, left, right);
  const Ints right_down = Part(right, n[1].weight), left_up = Part(left, kWeightOne - n[1].weight);
  add_row(0, left_up, right - right_down);
  add_row(1, left - left_up, right_down);
}

PTX2CPU_INLINE void FindCorners(const Plan& p, const Operands& o, uint32_t lanes, Corners& corners) {
  Neighbours n[3];
  uint32_t between = 0;  // a bit for each axis where some lane is between two texels
  for (uint32_t d = 0; d < p.dimensions; ++d) {
    n[d] = NeighboursOf(p.axis[d], o.coordinate[d], false);
    between |= ((BitsOf(n[d].weight != 0) & lanes) != 0 ? 1u : 0u) << d;
  }
  corners.groups = (between & 4) != 0 ? 2 : 1;
  corners.count = 1 << __builtin_popcount(between & 3);
  if (p.dimensions < 3)
    return AddPlane(p, n, between, Each(kWeightOne), {SliceOffset(p, o), {}, {}}, corners.at);
  const Ints far = Part(Each(kWeightOne), n[2].weight);
  for (int z = 0; z < corners.groups; ++z) {
    const Corner base = {n[2].index[z] * Step(p, 2), n[2].outside[z], {}};
    AddPlane(p, n, between, z == 0 ? kWeightOne - far : far, base, corners.at + z * corners.count);
  }
}

void FetchLinear(const Plan& p, const Operands& o, uint32_t fetch, uint32_t lanes, const uint32_t* words,
                 uint32_t* result) {
  Corners corners;
  FindCorners(p, o, lanes, corners);
  const int total = corners.groups * corners.count;
  RawTexel raw[8];
  Samples samples;
  samples.groups = corners.groups;
  samples.count = corners.count;
  for (int i = 0; i < total; ++i) {
    ReadRaw(p.layout, p.level.base, corners.at[i].offset, raw[i]);
    samples.weight[i] = corners.at[i].weight;
  }
  Ints special{};
  for (uint32_t c = 0; c < p.layout.channels; ++c) {
    for (int i = 0; i < total; ++i) {
      samples.value[i] = FilterValue(p.layout.channel, RawChannel(p.layout, raw[i], c));
      if (p.bordered)
        samples.value[i] = corners.at[i].outside ? Words{} + p.border.filtered[c] : samples.value[i];
    }
    Store(WeightedSum(p.rules.format, samples, special), result + c * kLanes);
  }
  StoreMissing(p, result);
  const uint32_t left = BitsOf(special) & lanes;
  if (left != 0) FetchEach(p.texture, fetch, left, words, result);
}

void FetchGather(const Plan& p, const Operands& o, uint32_t channel, uint32_t* result) {
  constexpr int kX[] = {0, 1, 1, 0}, kY[] = {1, 1, 0, 0};
  const Neighbours n[2] = {NeighboursOf(p.axis[0], o.coordinate[0], true),
                           NeighboursOf(p.axis[1], o.coordinate[1], true)};
  const Ints slice = SliceOffset(p, o);
  for (int i = 0; i < 4; ++i) {
    Words value{};
    if (channel < p.layout.channels) {
      RawTexel raw;
      ReadRaw(p.layout, p.level.base, slice + n[0].index[kX[i]] * Step(p, 0) + n[1].index[kY[i]] * Step(p, 1),
              raw);
      value = ChannelValue(p.layout.channel, p.texture.as_float != 0, RawChannel(p.layout, raw, channel));
      if (p.bordered)
        value = (n[0].outside[kX[i]] | n[1].outside[kY[i]]) ? Words{} + p.border.read[channel] : value;
    }
    Store(value, result + i * kLanes);
  }
}

// s32 coordinates name a texel; zero outside.
void FetchInteger(const Plan& p, uint32_t lanes, const uint32_t* words, uint32_t* result) {
  Ints inside = Ints{} == 0, offset{};
  int number = 0;
  if (kHasLayer[p.geometry]) {
    const Words layer = Load<Words>(words + number++ * kLanes);
    if (p.layered) {
      inside &= layer < p.texture.image.layers;
      offset += Convert<Ints>(layer) * static_cast<int32_t>(p.level.slice);
    }
  }
  for (uint32_t d = 0; d < p.dimensions; ++d) {
    const Ints index = Load<Ints>(words + number++ * kLanes);
    inside &= (index >= 0) & (index < p.axis[d].size);
    offset += index * Step(p, d);
  }
  const uint32_t reading = BitsOf(inside) & lanes;
  if (reading == 0) {
    for (int c = 0; c < 4; ++c) Store(Words{}, result + c * kLanes);
    return;
  }
  const int first = __builtin_ctz(reading);
  const Ints valid = MaskOf(reading);
  offset = valid ? offset : Each(offset[first]);
  RawTexel raw;
  ReadRaw(p.layout, p.level.base, offset, raw);
  for (uint32_t c = 0; c < p.layout.channels; ++c) {
    const Words value = ChannelValue(p.layout.channel, p.texture.as_float != 0, RawChannel(p.layout, raw, c));
    Store(valid ? value : Words{}, result + c * kLanes);
  }
  StoreMissing(p, result);
}

// Linear memory and integer coordinates do not mix with anything else.
enum class Kind : uint8_t { kEach, kInteger, kGather, kPoint, kLinear };

Kind KindOf(Plan& p, uint32_t fetch) {
  const bool integer = (fetch & PTX2CPU_FETCH_INTEGER) != 0,
             memory = p.texture.image.shape == PTX2CPU_SHAPE_LINEAR;
  if (memory != (integer && p.geometry == PTX2CPU_GEOMETRY_1D)) return Kind::kEach;
  if (!IsReachable(p)) return Kind::kEach;
  if (memory) {
    p.axis[0].size = p.level.width > INT32_MAX ? INT32_MAX : static_cast<int32_t>(p.level.width);
    return Kind::kInteger;
  }
  p.filters =
      p.texture.linear_filter != 0 && p.rules.gives_floats && !integer && (fetch & PTX2CPU_FETCH_GATHER) == 0;
  if (!MakeAxes(p)) return Kind::kEach;
  if (integer) return (fetch & PTX2CPU_FETCH_LEVEL) != 0 ? Kind::kEach : Kind::kInteger;
  if ((fetch & PTX2CPU_FETCH_GATHER) != 0) return p.dimensions == 2 ? Kind::kGather : Kind::kEach;
  return p.filters ? Kind::kLinear : Kind::kPoint;
}

}  // namespace

void FetchLanes(const ptx2cpu_texture& t, uint32_t fetch, uint32_t lanes, const uint32_t* words,
                uint32_t* result) {
  if (!IsPlannable(t, fetch)) return FetchEach(t, fetch, lanes, words, result);
  const uint32_t geometry = fetch & PTX2CPU_FETCH_GEOMETRY;
  const TexelRules rules = RulesOf(t);
  const Layout layout{t.image.channel, t.image.channels, rules.channel_bytes,
                      rules.channel_bytes * t.image.channels};
  Plan p{t, t.image.level[0], rules, layout, geometry, kDimensions[geometry], IsLayered(t.image.shape)};
  const Kind kind = KindOf(p, fetch);
  if (kind == Kind::kEach) return FetchEach(t, fetch, lanes, words, result);
  if (kind == Kind::kInteger) return FetchInteger(p, lanes, words, result);
  const Operands operands = Sort(p, words, lanes);
  if (kind == Kind::kGather)
    return FetchGather(p, operands, fetch >> PTX2CPU_FETCH_CHANNEL_SHIFT & 3, result);
  if (kind == Kind::kPoint) return FetchPoint(p, operands, result);
  FetchLinear(p, operands, fetch, lanes, words, result);
}

}  // namespace ptx2cpu::texture::PTX2CPU_LANES
