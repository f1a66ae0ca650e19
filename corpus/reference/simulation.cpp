// References of n-body, Black-Scholes, Mandelbrot, Jacobi, Collatz, Monte Carlo and the smoothing kernels.
#include <cmath>

#include "reference.h"

namespace corpus {
namespace {

void Nbody(Call& call) {
  const auto body = call.In<float>(0);
  const auto out = call.Out<float>(1);
  const uint32_t n = call.Value<uint32_t>(3);
  for (uint32_t i = 0; i < n; ++i) {
    float sum[3] = {0, 0, 0};
    for (uint32_t j = 0; j < n; ++j) {
      float d[3], square = call.Value<float>(2);
      for (int k = 0; k < 3; ++k) {
        d[k] = body[4 * j + k] - body[4 * i + k];
        square = std::fma(d[k], d[k], square);
      }
      const float cube = square * std::sqrt(square);
      const float weight = body[4 * j + 3] / cube;
      for (int k = 0; k < 3; ++k) sum[k] = std::fma(weight, d[k], sum[k]);
    }
    for (int k = 0; k < 3; ++k) out[4 * i + k] = sum[k];
    const float z_square = sum[2] * sum[2];
    out[4 * i + 3] = std::fma(sum[0], sum[0], std::fma(sum[1], sum[1], z_square));
  }
}

// In double precision, with the exact normal distribution.
void BlackScholes(Call& call) {
  const double rate = call.Value<float>(5), volatility = call.Value<float>(6);
  const auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
  for (uint32_t i = 0; i < call.Value<uint32_t>(7); ++i) {
    const double spot = call.In<float>(0)[i], strike = call.In<float>(1)[i], years = call.In<float>(2)[i];
    const double deviation = volatility * std::sqrt(years);
    const double d1 = (std::log(spot / strike) + (rate + volatility * volatility / 2) * years) / deviation;
    const double d2 = d1 - deviation, discounted = strike * std::exp(-rate * years);
    call.Out<float>(3)[i] = static_cast<float>(spot * normal(d1) - discounted * normal(d2));
    call.Out<float>(4)[i] = static_cast<float>(discounted * normal(-d2) - spot * normal(-d1));
  }
}

template <typename T>
void Mandelbrot(Call& call) {
  const int width = call.Value<int32_t>(1), height = call.Value<int32_t>(2), limit = call.Value<int32_t>(6);
  const T left = call.Value<T>(3), top = call.Value<T>(4), step = call.Value<T>(5);
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      const T cx = std::fma(static_cast<T>(px), step, left), cy = std::fma(static_cast<T>(py), step, top);
      T x = 0, y = 0;
      int count = 0;
      for (; count < limit; ++count) {
        const T xx = x * x, yy = y * y;
        const T square = xx + yy;
        if (square > 4) break;
        const T twice = x + x, difference = xx - yy;
        y = std::fma(twice, y, cy);
        x = difference + cx;
      }
      call.Out<uint16_t>(0)[py * width + px] = static_cast<uint16_t>(count);
    }
  }
}

void Jacobi(Call& call) {
  const int length = call.Value<int32_t>(2);
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    const auto line = call.Out<float>(0).subspan(b * length, length);
    int count = 0;
    for (bool moving = true; moving && count < call.Value<int32_t>(4); ++count) {
      const std::vector<float> before(line.begin(), line.end());
      moving = false;
      for (int j = 1; j + 1 < length; ++j) {
        const float both = before[j - 1] + before[j + 1];
        line[j] = 0.5f * both;
        const float change = line[j] - before[j];
        moving |= std::fabs(change) > call.Value<float>(3);
      }
    }
    call.Out<int32_t>(1)[b] = count;
  }
}

void Collatz(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    uint64_t x = call.In<uint32_t>(0)[i];
    int count = 0;
    while (x > 1 && count >= 0) {
      x = x % 2 == 1 ? 3 * x + 1 : x / 2;
      if (x > 0xffffffffu)
        count = -1;
      else if (++count == call.Value<int32_t>(2))
        count = -2;
    }
    call.Out<int32_t>(1)[i] = count;
  }
}

void MonteCarlo(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    uint32_t state = call.Value<uint32_t>(1) + i * 0x9e3779b9u;
    if (state == 0) state = 1;
    const auto next = [&state] {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      return static_cast<uint64_t>(state / 2);
    };
    for (uint32_t p = 0; p < call.Value<uint32_t>(2); ++p) {
      const uint64_t x = next(), y = next();
      if (x * x + y * y < uint64_t{1} << 62) ++call.Out<uint32_t>(0)[0];
    }
  }
}

void Smooth(Call& call) {
  const uint32_t n = call.Value<uint32_t>(3);
  for (uint32_t start = 0; start < n; start += call.block[0]) {
    const uint32_t live = std::min(call.block[0], n - start);
    const auto in = call.In<uint32_t>(0).subspan(start, live);
    std::vector<uint32_t> row(in.begin(), in.end());
    for (int r = 0; r < call.Value<int32_t>(2); ++r) {
      const std::vector<uint32_t> old = row;
      for (uint32_t t = 0; t < live; ++t)
        row[t] = (old[(t + live - 1) % live] + 2 * old[t] + old[(t + 1) % live] + 2) / 4;
    }
    for (uint32_t t = 0; t < live; ++t) call.Out<uint32_t>(1)[start + t] = row[t];
  }
}

// Who leaves in round r sees how many of the block live r rounds or longer.
void ExitRounds(Call& call) {
  const uint32_t n = call.Value<uint32_t>(3);
  const auto lives = call.In<int32_t>(0);
  for (uint32_t i = 0; i < n; ++i) {
    int32_t left = -1;
    if (lives[i] < call.Value<int32_t>(2)) {
      left = 0;
      const uint32_t start = i / call.block[0] * call.block[0];
      for (uint32_t j = start; j < std::min(start + call.block[0], n); ++j) left += lives[j] >= lives[i];
    }
    call.Out<int32_t>(1)[i] = left;
  }
}

}  // namespace

void AddSimulationReferences(References& references) {
  references["nbody_accelerations"] = Nbody;
  references["black_scholes"] = BlackScholes;
  references["mandelbrot"] = Mandelbrot<float>;
  references["mandelbrot_f64"] = Mandelbrot<double>;
  references["jacobi_converge"] = Jacobi;
  references["collatz_steps"] = Collatz;
  references["monte_carlo_circle"] = MonteCarlo;
  references["early_exit_smooth"] = Smooth;
  references["early_exit_rounds"] = ExitRounds;
}

}  // namespace corpus
