// Kernels whose output is a picture: Mandelbrot, life, n-body.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tools/demo_program/exhibit.h"

namespace ptx2cpu::demo {

namespace {

// Operation by operation what the kernel does, so that the last bit agrees.
uint16_t EscapeTime(float cx, float cy, int limit) {
  float x = 0, y = 0;
  int count = 0;
  for (; count < limit; ++count) {
    const float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f) break;
    y = std::fma(x + x, y, cy);
    x = (xx - yy) + cx;
  }
  return static_cast<uint16_t>(count);
}

// Rises slowly for long escape times.
uint8_t ShadeOf(uint16_t count, int limit, size_t shades) {
  const double share = std::log(1.0 + count) / std::log(1.0 + limit);
  return static_cast<uint8_t>(std::lround(share * static_cast<double>(shades - 1)));
}

}  // namespace

Status ShowMandelbrot(Run& run) {
  constexpr int kWidth = 76, kHeight = 26, kLimit = 400, kFine = 8;
  constexpr int kPixelsX = kWidth * kFine,
                kPixelsY = kHeight * kFine * 2;  // finer than characters, for the kernel to have work
  const float left = -2.15f, step = 3.0f / kPixelsX, top = -step * static_cast<float>(kPixelsY / 2);
  std::vector<uint16_t> counts(kPixelsX * kPixelsY);
  const Shape shape{.grid = {BlocksFor(kPixelsX, 16), BlocksFor(kPixelsY, 16)}, .block = {16, 16}};
  TRY_STATUS(run.Launch(shape, counts.data(), kPixelsX, kPixelsY, left, top, step, kLimit));

  constexpr std::string_view kRamp = " .,:;-=+*xo#%@";
  std::vector<uint8_t> levels;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x)
      levels.push_back(ShadeOf(counts[(y * 2 * kFine + kFine) * kPixelsX + x * kFine], kLimit, kRamp.size()));
  }
  run.page().Shades(levels, kWidth, kRamp);

  std::vector<uint16_t> wanted;
  for (int y = 0; y < kPixelsY; ++y) {
    for (int x = 0; x < kPixelsX; ++x) {
      wanted.push_back(EscapeTime(std::fma(static_cast<float>(x), step, left),
                                  std::fma(static_cast<float>(y), step, top), kLimit));
    }
  }
  run.CheckEqual<uint16_t>(counts, wanted, "escape times");
  return {};
}

namespace {

constexpr int kLifeWidth = 76, kLifeHeight = 40;

std::vector<uint8_t> GliderGun() {
  constexpr std::string_view kRows[] = {
      "                        *           ", "                      * *           ",
      "            **      **            **", "           *   *    **            **",
      "**        *     *   **              ", "**        *   * **    * *           ",
      "          *     *       *           ", "           *   *                    ",
      "            **                      "};
  std::vector<uint8_t> cells(kLifeWidth * kLifeHeight);
  for (size_t y = 0; y < std::size(kRows); ++y) {
    for (size_t x = 0; x < kRows[y].size(); ++x) cells[(y + 3) * kLifeWidth + x + 2] = kRows[y][x] == '*';
  }
  return cells;
}

std::vector<uint8_t> NextGeneration(const std::vector<uint8_t>& cells) {
  std::vector<uint8_t> next(cells.size());
  for (int y = 0; y < kLifeHeight; ++y) {
    for (int x = 0; x < kLifeWidth; ++x) {
      int around = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (dx != 0 || dy != 0)
            around +=
                cells[(y + dy + kLifeHeight) % kLifeHeight * kLifeWidth + (x + dx + kLifeWidth) % kLifeWidth];
        }
      }
      next[y * kLifeWidth + x] = around == 3 || (around == 2 && cells[y * kLifeWidth + x]);
    }
  }
  return next;
}

void DrawCells(const Page& page, std::span<const uint8_t> cells) {
  for (int y = 0; y + 1 < kLifeHeight; y += 2) {
    page.Line("  " + PackedRows(cells.subspan(y * kLifeWidth, kLifeWidth),
                                cells.subspan((y + 1) * kLifeWidth, kLifeWidth)));
  }
}

}  // namespace

Status ShowLife(Run& run) {
  constexpr int kGenerations = 130;
  std::vector<uint8_t> cells = GliderGun(), next(cells.size()), wanted = cells;
  const Shape shape{.grid = {BlocksFor(kLifeWidth, 16), BlocksFor(kLifeHeight, 8)},
                    .block = {16, 8},
                    .shared_bytes = 18 * 10};
  for (int i = 0; i < kGenerations; ++i) {
    TRY_STATUS(run.Launch(shape, cells.data(), next.data(), kLifeWidth, kLifeHeight));
    cells.swap(next);
    wanted = NextGeneration(wanted);
  }
  run.page().Line(fmt::format("  A gun that sends out gliders, after {} generations:", kGenerations));
  DrawCells(run.page(), cells);
  run.CheckEqual<uint8_t>(cells, wanted, "cells");
  return {};
}

namespace {

struct Body {
  float x, y, z, mass;
};

constexpr float kSoftening = 0.03f;

// Two discs that orbit each other, seen from above; each body orbits in its own disc.
void MakeGalaxies(std::vector<Body>& bodies, std::vector<Body>& velocities) {
  Draws draws(7);
  for (size_t i = 0; i < bodies.size(); ++i) {
    const float side = i % 2 == 0 ? -1.0f : 1.0f;
    const float radius = 0.08f + 0.5f * draws.Unit(), angle = 6.2831853f * draws.Unit();
    const float within = 0.5f * radius / 0.58f, square = radius * radius;  // mass inside the radius
    const float speed = std::sqrt(within * square / std::pow(square + kSoftening, 1.5f));
    bodies[i] = {side * 0.9f + radius * std::cos(angle), side * 0.25f + radius * std::sin(angle),
                 0.02f * (draws.Unit() - 0.5f), 1.0f / static_cast<float>(bodies.size())};
    velocities[i] = {-speed * std::sin(angle) - side * 0.25f, speed * std::cos(angle) + side * 0.30f, 0, 0};
  }
}

std::string DrawBodies(const std::vector<Body>& bodies) {
  constexpr int kWidth = 34, kHeight = 17;
  std::array<int, kWidth * kHeight> density{};
  for (const Body& body : bodies) {
    const int x = static_cast<int>(std::floor((body.x / 1.6f + 1) / 2 * kWidth)),
              y = static_cast<int>(std::floor((body.y / 1.6f + 1) / 2 * kHeight));
    if (x >= 0 && x < kWidth && y >= 0 && y < kHeight) ++density[y * kWidth + x];
  }
  constexpr std::string_view kRamp = " .:+*#@";
  std::string picture;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x)
      picture += kRamp[std::min<size_t>(density[y * kWidth + x], kRamp.size() - 1)];
    picture += '\n';
  }
  return picture;
}

// The kernel's sums in its order, so that the last bit agrees.
Body AccelerationOf(const Body& self, const std::vector<Body>& bodies, float softening) {
  float ax = 0, ay = 0, az = 0;
  for (const Body& other : bodies) {
    const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
    const float square = std::fma(dz, dz, std::fma(dy, dy, std::fma(dx, dx, softening)));
    const float weight = other.mass / (square * std::sqrt(square));
    ax = std::fma(weight, dx, ax);
    ay = std::fma(weight, dy, ay);
    az = std::fma(weight, dz, az);
  }
  return {ax, ay, az, std::fma(ax, ax, std::fma(ay, ay, az * az))};
}

}  // namespace

Status ShowBodies(Run& run) {
  constexpr uint32_t kBodies = 600, kBlock = 64;
  constexpr int kSteps = 100;
  constexpr float kTime = 0.02f;
  std::vector<Body> bodies(kBodies), velocities(kBodies), accelerations(kBodies), before;
  MakeGalaxies(bodies, velocities);
  const std::string start = DrawBodies(bodies);
  const Shape shape{.grid = {BlocksFor(kBodies, kBlock)}, .block = {kBlock}, .shared_bytes = 16 * kBlock};
  for (int i = 0; i < kSteps; ++i) {
    TRY_STATUS(run.Launch(shape, bodies.data(), accelerations.data(), kSoftening, kBodies));
    before = bodies;
    for (uint32_t k = 0; k < kBodies; ++k) {
      velocities[k].x += kTime * accelerations[k].x, velocities[k].y += kTime * accelerations[k].y,
          velocities[k].z += kTime * accelerations[k].z;
      bodies[k].x += kTime * velocities[k].x, bodies[k].y += kTime * velocities[k].y,
          bodies[k].z += kTime * velocities[k].z;
    }
  }
  run.page().Line(fmt::format("  {} bodies, at the start and after {} steps:", kBodies, kSteps));
  run.page().Line(Beside(start, DrawBodies(bodies)));
  std::vector<Body> wanted;
  for (const Body& body : before) wanted.push_back(AccelerationOf(body, before, kSoftening));
  run.CheckEqual<Body>(accelerations, wanted, "accelerations of the last step");
  return {};
}

}  // namespace ptx2cpu::demo
