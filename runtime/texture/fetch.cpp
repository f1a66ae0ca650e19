// ptx2cpu_texture_fetch: the results of tex and tld4.
#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/texture/coordinates.h"
#include "runtime/texture/cube.h"
#include "runtime/texture/level.h"
#include "runtime/texture/plain_fetch.h"
#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

namespace {

// An instruction's operands, sorted.
struct Request {
  uint32_t geometry;
  uint32_t dimensions;  // of a layer
  bool integer;
  int64_t layer = 0;
  uint32_t coordinate[3] = {};
  uint32_t offset[3] = {};
  const uint32_t* gradient = nullptr;
  uint32_t level = 0;
  bool has_level = false;
};

constexpr uint32_t kDimensions[] = {1, 2, 3, 1, 2, 3, 3};

Request Sort(uint32_t fetch, const uint32_t* words) {
  Request r{};
  r.geometry = fetch & PTX2CPU_FETCH_GEOMETRY;
  r.dimensions = kDimensions[r.geometry];
  r.integer = (fetch & PTX2CPU_FETCH_INTEGER) != 0;
  if (r.geometry == PTX2CPU_GEOMETRY_A1D || r.geometry == PTX2CPU_GEOMETRY_A2D ||
      r.geometry == PTX2CPU_GEOMETRY_ACUBE)
    r.layer = *words++;
  for (uint32_t d = 0; d < r.dimensions; ++d) r.coordinate[d] = *words++;
  if ((fetch & PTX2CPU_FETCH_LEVEL) != 0) {
    r.has_level = true;
    r.level = *words++;
  }
  if ((fetch & PTX2CPU_FETCH_GRADIENT) != 0) {
    r.gradient = words;
    words += 2 * r.dimensions;
  }
  if ((fetch & PTX2CPU_FETCH_OFFSET) != 0) {
    for (uint32_t d = 0; d < r.dimensions; ++d) r.offset[d] = *words++;
  }
  return r;
}

// One level of one layer (or a volume), with the axes that an instruction sees.
struct Plane {
  const ptx2cpu_texture& texture;
  const ptx2cpu_image_level& level;
  Axis axis[3];
  uint32_t dimensions;
  bool volume, seamless;
  int64_t slice;  // where it is none
};

bool IsLayered(uint32_t shape) { return shape >= PTX2CPU_SHAPE_1D_LAYERED; }

Plane PlaneOf(const ptx2cpu_texture& t, const Request& r, uint32_t level, int64_t slice) {
  Plane plane{t, t.image.level[level], {}, r.dimensions, r.dimensions == 3, false, slice};
  const bool is_cube = r.geometry >= PTX2CPU_GEOMETRY_CUBE, normalized = t.normalized != 0 || is_cube;
  for (uint32_t d = 0; d < r.dimensions; ++d) {
    plane.axis[d] = {Extent(plane.level, d), ModeOf(t, d, normalized), normalized,
                     static_cast<int32_t>(r.offset[d])};
  }
  plane.seamless = is_cube && t.seamless != 0 && t.image.shape >= PTX2CPU_SHAPE_CUBE;
  // To the filter a line is a plane of one row, read at coordinate 0, halfway to the border if y has one.
  if (r.dimensions == 1 && !IsLayered(t.image.shape) && ModeOf(t, 1, normalized) == PTX2CPU_ADDRESS_BORDER) {
    plane.dimensions = 2;
    plane.axis[1] = {1, PTX2CPU_ADDRESS_BORDER, normalized, 0};
  }
  return plane;
}

Texel At(const Plane& p, int64_t x, int64_t y, int64_t z) {
  return ReadTexel(p.texture, p.level, x, y, p.volume ? z : p.slice);
}

Texel FilterAt(const Plane& p, int64_t x, int64_t y, int64_t z) {
  return ReadFilterTexel(p.texture, p.level, x, y, p.volume ? z : p.slice);
}

Texel PointTexel(const Plane& p, const float* coordinate) {
  int64_t index[3] = {};
  for (uint32_t d = 0; d < p.dimensions; ++d) index[d] = PointIndex(p.axis[d], coordinate[d]);
  return At(p, index[0], index[1], index[2]);
}

constexpr int kMaxTexels = 16;  // two levels of a volume

struct Footprint {
  Texel texels[kMaxTexels];
  int weights[kMaxTexels];
  int count = 0;
};

// The neighbours of a position, with weights that sum to `whole`.
void AddPlane(const Plane& p, const Neighbours* n, int z, int whole, Footprint& f) {
  SplitPlane(whole, n[0].weight, n[1].weight, f.weights + f.count);
  // A second neighbour at distance 0 does not count, not even as NaN; one whose weight only rounds to 0 does.
  const int next_x = n[0].weight != 0, next_y = n[1].weight != 0;
  for (int i = 0; i < 4; ++i) {
    f.texels[f.count + i] =
        whole == 0 ? Texel{}
                   : FilterAt(p, n[0].index[i & next_x], n[1].index[i >> 1 & next_y], n[2].index[z]);
  }
  f.count += 4;
}

// Over the edges of a cube's face. Beyond a corner there is no texel: the other three share its weight.
void AddSeamless(const Plane& p, const float* coordinate, int whole, Footprint& f) {
  const Neighbours x = OpenNeighbours(p.axis[0], coordinate[0]), y = OpenNeighbours(p.axis[1], coordinate[1]);
  const int64_t size = p.axis[0].size, first = p.slice - p.slice % 6;
  const auto outside = [&](int64_t at) { return at < 0 || at >= size; };
  int* weights = f.weights + f.count;
  SplitPlane(whole, x.weight, y.weight, weights);
  for (int i = 0; i < 4; ++i) {
    const int64_t at_x = x.index[i & 1], at_y = y.index[i >> 1];
    if (outside(at_x) && outside(at_y)) {
      const int share = (weights[i] + 1) / 3;
      weights[i ^ 1] += share;
      weights[i ^ 2] += share;
      weights[i ^ 3] += weights[i] - 2 * share;
      weights[i] = 0;
      f.texels[f.count + i] = {};
      continue;
    }
    const CubeTexel texel = AcrossEdge(static_cast<uint32_t>(p.slice - first), at_x, at_y, size);
    f.texels[f.count + i] = ReadFilterTexel(p.texture, p.level, texel.x, texel.y, first + texel.face);
  }
  f.count += 4;
}

void AddLinear(const Plane& p, const float* coordinate, int whole, Footprint& f) {
  if (p.seamless) return AddSeamless(p, coordinate, whole, f);
  Neighbours n[3] = {};
  for (uint32_t d = 0; d < p.dimensions; ++d) n[d] = LinearIndices(p.axis[d], coordinate[d]);
  if (p.dimensions < 3) return AddPlane(p, n, 0, whole, f);
  const int near = Part(whole, kWeightOne - n[2].weight);
  AddPlane(p, n, 0, near, f);
  AddPlane(p, n, 1, whole - near, f);
}

// One texel; the group's others have no weight.
void AddPoint(const Plane& p, const float* coordinate, int whole, Footprint& f) {
  int64_t index[3] = {};
  for (uint32_t d = 0; d < p.dimensions; ++d) index[d] = PointIndex(p.axis[d], coordinate[d]);
  f.texels[f.count] = FilterAt(p, index[0], index[1], index[2]);
  for (int i = 1; i < 4; ++i) f.texels[f.count + i] = {};
  for (int i = 0; i < 4; ++i) f.weights[f.count + i] = i == 0 ? whole : 0;
  f.count += 4;
}

Texel Sum(const ptx2cpu_texture& t, const Footprint& f) {
  Texel result{};
  for (uint32_t c = 0; c < t.image.channels; ++c) {
    uint32_t values[kMaxTexels];
    for (int i = 0; i < f.count; ++i) values[i] = f.texels[i].channel[c];
    result.channel[c] = WeightedSum(FilterFormatOf(t, c), values, f.weights, f.count);
  }
  return result;
}

Texel LinearTexel(const Plane& p, const float* coordinate) {
  Footprint f;
  AddLinear(p, coordinate, kWeightOne, f);
  return Sum(p.texture, f);
}

constexpr int kGatherX[] = {0, 1, 1, 0}, kGatherY[] = {1, 1, 0, 0};

// Over the edges of a cube's face; beyond a corner the mean of the other three, the one across with what is
// left of 256.
Texel GatherSeamless(const Plane& p, const float* coordinate, uint32_t channel) {
  const Neighbours x = OpenNeighbours(p.axis[0], coordinate[0]), y = OpenNeighbours(p.axis[1], coordinate[1]);
  const int64_t size = p.axis[0].size, first = p.slice - p.slice % 6;
  const auto outside = [&](int64_t at) { return at < 0 || at >= size; };
  Texel result{}, filtered{};
  int weights[4] = {85, 85, 85, 85}, corner = -1;
  for (int i = 0; i < 4; ++i) {
    const int64_t at_x = x.index[kGatherX[i]], at_y = y.index[kGatherY[i]];
    if (outside(at_x) && outside(at_y)) {
      weights[i] = 0;
      weights[i ^ 2] = 86;
      corner = i;
      continue;
    }
    const CubeTexel texel = AcrossEdge(static_cast<uint32_t>(p.slice - first), at_x, at_y, size);
    result.channel[i] = ReadTexel(p.texture, p.level, texel.x, texel.y, first + texel.face).channel[channel];
    filtered.channel[i] =
        ReadFilterTexel(p.texture, p.level, texel.x, texel.y, first + texel.face).channel[channel];
  }
  if (corner >= 0 && GivesFloats(p.texture))
    result.channel[corner] = WeightedSum(FilterFormatOf(p.texture, channel), filtered.channel, weights, 4);
  if (corner >= 0 && !GivesFloats(p.texture)) result.channel[corner] = result.channel[corner ^ 2];
  return result;
}

Texel GatherTexels(const Plane& p, const float* coordinate, uint32_t channel) {
  if (p.seamless) return GatherSeamless(p, coordinate, channel);
  const Neighbours x = FootprintIndices(p.axis[0], coordinate[0]),
                   y = FootprintIndices(p.axis[1], coordinate[1]);
  Texel result;
  for (int i = 0; i < 4; ++i)
    result.channel[i] = At(p, x.index[kGatherX[i]], y.index[kGatherY[i]], 0).channel[channel];
  return result;
}

int64_t LayerOf(const ptx2cpu_texture& t, int64_t layer, int64_t count) {
  return IsLayered(t.image.shape) ? Clamped(layer, 0, count - 1) : 0;
}

// s32 coordinates name a texel: no filter, and zero outside; with a level the nearest texel.
Texel IntegerTexel(const ptx2cpu_texture& t, const Request& r) {
  const int64_t level = r.has_level ? static_cast<int32_t>(r.level) : 0;
  if (level < 0 || level >= t.image.levels) return {};
  const ptx2cpu_image_level& at = t.image.level[level];
  int64_t index[3] = {};
  bool inside = true;
  for (uint32_t d = 0; d < r.dimensions; ++d) {
    index[d] = static_cast<int32_t>(r.coordinate[d]) + int64_t{static_cast<int32_t>(r.offset[d])};
    inside &= index[d] >= 0 && index[d] < Extent(at, d);
    if (r.has_level) index[d] = Clamped(index[d], 0, int64_t{Extent(at, d)} - 1);
  }
  if (!inside && !r.has_level) return {};
  if (IsLayered(t.image.shape) && r.layer >= t.image.layers) return {};
  return ReadTexel(t, at, index[0], index[1],
                   r.dimensions == 3          ? index[2]
                   : IsLayered(t.image.shape) ? r.layer
                                              : 0);
}

// Linear memory is read with s32 coordinates and without offset; zero outside. Float coordinates read zero,
// as do s32 ones of an array with tex.1d.
Texel MemoryTexel(const ptx2cpu_texture& t, const Request& r) {
  const int64_t index = static_cast<int32_t>(r.coordinate[0]);
  const bool is_memory = t.image.shape == PTX2CPU_SHAPE_LINEAR;
  if (!is_memory || !r.integer || index < 0 || index >= t.image.level[0].width) return {};
  return ReadTexel(t, t.image.level[0], index, 0, 0);
}

bool IsFiltered(const ptx2cpu_texture& t) { return t.linear_filter != 0 && GivesFloats(t); }

Texel SampleLevel(const ptx2cpu_texture& t, const Request& r, uint32_t level, const float* coordinate,
                  int64_t slice) {
  const Plane plane = PlaneOf(t, r, level, slice);
  return IsFiltered(t) ? LinearTexel(plane, coordinate) : PointTexel(plane, coordinate);
}

// Between two levels: one sum of all texels.
Texel SampleLevels(const ptx2cpu_texture& t, const Request& r, const LevelChoice& levels,
                   const float* coordinate, int64_t slice) {
  if (!GivesFloats(t)) return SampleLevel(t, r, levels.fine, coordinate, slice);
  const int whole[2] = {kWeightOne - levels.weight, levels.weight};
  Footprint f;
  for (uint32_t i = 0; i < 2; ++i) {
    const Plane plane = PlaneOf(t, r, levels.fine + i, slice);
    IsFiltered(t) ? AddLinear(plane, coordinate, whole[i], f) : AddPoint(plane, coordinate, whole[i], f);
  }
  return Sum(t, f);
}

// The bias counts only if the instruction has a level or gradients.
int64_t LevelOfRequest(const ptx2cpu_texture& t, const Request& r) {
  const int64_t bias = FixedLevel(t.lod_bias);
  if (r.has_level) return FixedLevel(FloatOf(r.level)) + bias;
  if (r.gradient == nullptr) return 0;
  const ptx2cpu_image_level& base = t.image.level[0];
  if (r.geometry < PTX2CPU_GEOMETRY_CUBE) return LevelOfGradients(base, r.dimensions, r.gradient) + bias;
  const float direction[3] = {FloatOf(r.coordinate[0]), FloatOf(r.coordinate[1]), FloatOf(r.coordinate[2])};
  return LevelOfCubeGradients(base, direction, r.gradient) + bias;
}

Texel Sample(const ptx2cpu_texture& t, const Request& request, uint32_t fetch) {
  Request r = request;
  float coordinate[3] = {FloatOf(r.coordinate[0]), FloatOf(r.coordinate[1]), FloatOf(r.coordinate[2])};
  int64_t slice = 0;
  if (r.geometry >= PTX2CPU_GEOMETRY_CUBE) {
    const CubePlace place = FindFace(coordinate);
    slice = Clamped(LayerOf(t, r.layer, t.image.layers / 6) * 6 + place.face, 0, int64_t{t.image.layers} - 1);
    coordinate[0] = place.s;
    coordinate[1] = place.t;
    r.dimensions = 2;
  } else if (r.dimensions < 3) {
    slice = LayerOf(t, r.layer, t.image.layers);
  }
  if ((fetch & PTX2CPU_FETCH_GATHER) != 0) {
    return GatherTexels(PlaneOf(t, r, 0, slice), coordinate, fetch >> PTX2CPU_FETCH_CHANNEL_SHIFT & 3);
  }
  const LevelChoice levels = ChooseLevels(t, LevelOfRequest(t, request));
  if (levels.weight == 0) return SampleLevel(t, r, levels.fine, coordinate, slice);
  return SampleLevels(t, r, levels, coordinate, slice);
}

Texel Fetch(const ptx2cpu_texture& t, uint32_t fetch, const uint32_t* words) {
  if (IsPlain(t, fetch)) return FetchPlain(t, fetch, words);
  const Request r = Sort(fetch, words);
  const bool reads_memory = r.integer && r.geometry == PTX2CPU_GEOMETRY_1D;
  if (t.image.shape == PTX2CPU_SHAPE_LINEAR || reads_memory) return MemoryTexel(t, r);
  return r.integer ? IntegerTexel(t, r) : Sample(t, r, fetch);
}

}  // namespace

}  // namespace ptx2cpu::texture

extern "C" void ptx2cpu_texture_fetch(const ptx2cpu_texture* texture, uint64_t sampler, uint32_t fetch,
                                      const uint32_t* words, uint32_t* result) {
  using namespace ptx2cpu::texture;
  Texel texel{};
  if (texture != nullptr) {
    texel =
        sampler == 0 ? Fetch(*texture, fetch, words) : Fetch(WithSampler(*texture, sampler), fetch, words);
  }
  __builtin_memcpy(result, texel.channel, sizeof texel.channel);
}
