// References of the kernels that show features of the language: constants, calls, switches, local arrays,
// structs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "reference.h"

namespace corpus {
namespace {

void ConstantLookup(Call& call) {
  static const int kSlope[8] = {3, 5, 2, -1, 7, 0, -4, 9}, kOffset[8] = {0, -10, 40, 100, -99, 12, 500, 1};
  static const int kPermutation[16] = {7, 12, 1, 0, 15, 9, 4, 3, 14, 2, 8, 11, 5, 6, 10, 13};
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const uint32_t value = call.In<uint32_t>(0)[i];
    const int segment = kPermutation[value % 16] % 8;
    call.Out<int32_t>(1)[i] = kSlope[segment] * static_cast<int>(value / 16) + kOffset[segment];
  }
}

void ConstantPolynomial(Call& call) {
  float coefficients[6];
  std::memcpy(coefficients, call.constants.at("coefficients").data(), sizeof coefficients);
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    float sum = coefficients[5];
    for (int k = 4; k >= 0; --k) sum = std::fma(sum, call.In<float>(0)[i], coefficients[k]);
    call.Out<float>(1)[i] = sum;
  }
}

void StructByValue(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(3); ++i) {
    const int numerator = 3 * call.In<int32_t>(0)[i] + 2 * call.In<int32_t>(1)[i];  // over 36
    const int divisor = std::gcd(numerator, 36);
    call.Out<int32_t>(2)[2 * i] = numerator / divisor;
    call.Out<int32_t>(2)[2 * i + 1] = 36 / divisor;
  }
}

void WithPointers(Call& call) {
  const uint32_t n = call.Value<uint32_t>(2);
  const auto in = call.In<int32_t>(0);
  for (uint32_t i = 0; i < n; ++i) {
    const auto [low, high] = std::minmax({in[i], in[(i + 1) % n], in[(i + 2) % n], in[(i + 3) % n]});
    call.Out<int32_t>(1)[i] = in[i] % 2 != 0 ? high - low : 0;
  }
}

// Partitions of a number, counted part by part.
void Recursive(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int number = call.In<int32_t>(0)[i];
    std::vector<uint32_t> ways(number + 1);
    ways[0] = 1;
    for (int part = 1; part <= number; ++part)
      for (int total = part; total <= number; ++total) ways[total] += ways[total - part];
    call.Out<uint32_t>(1)[i] = ways[number];
  }
}

void FunctionPointer(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const int y = static_cast<int>(i);
    int value = call.In<int32_t>(0)[i];
    for (int k = 0; k < 4; ++k) {
      const uint32_t which = static_cast<uint32_t>(value + k) % 3;
      value = which == 0 ? value + value + y : which == 1 ? 9 * (value ^ y) : std::min(value, y);
    }
    call.Out<int32_t>(1)[i] = value;
  }
}

void StackMachine(Call& call) {
  const auto program = call.In<uint8_t>(0);
  for (uint32_t i = 0; i < call.Value<uint32_t>(4); ++i) {
    std::vector<int> stack = {call.In<int32_t>(2)[i]};
    for (uint32_t pc = 0; pc < call.Value<uint32_t>(1); ++pc) {
      const int operation = program[pc] % 16, operand = program[pc] / 16, x = stack.back();
      const auto binary = [&](auto function) {
        stack.pop_back();
        stack.back() = function(stack.back(), x);
      };
      if (operation == 0)
        stack.push_back(x);
      else if (operation == 1)
        binary(std::plus<int>());
      else if (operation == 2)
        binary(std::minus<int>());
      else if (operation == 3)
        binary(std::multiplies<int>());
      else if (operation == 4)
        stack.back() = x >> 1;
      else if (operation == 5)
        stack.back() = -x - 1;
      else if (operation == 6)
        stack.push_back(operand);
      else if (operation == 7) {
        stack.pop_back();
        if (x <= 0) pc += operand;
      } else if (operation == 8)
        std::swap(stack.back(), stack[stack.size() - 2]);
      else if (operation == 9)
        stack.back() = std::abs(x);
    }
    call.Out<int32_t>(3)[i] = stack.back();
  }
}

void SwitchDivergent(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const uint32_t x = call.In<uint32_t>(0)[i], y = x / 8, arm = x % 12;
    call.Out<uint32_t>(1)[i] = arm == 0   ? 3 * y + 1
                               : arm == 1 ? y / 7
                               : arm == 2 ? (y ^ 0x5a5a5a5a) + i
                               : arm == 3 ? y + i
                               : arm == 4 ? std::popcount(y)
                               : arm == 5 ? y << i % 31
                               : arm == 6 ? y % 1000
                               : arm == 7 ? ~y
                               : arm == 9 ? ~i
                                          : y;
  }
}

void LocalDigits(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const std::string digits = std::to_string(call.In<uint64_t>(0)[i]);
    int best = 0, most = 0;
    for (int d = 9; d >= 0; --d) {
      const int count = static_cast<int>(std::count(digits.begin(), digits.end(), '0' + d));
      if (count >= most) best = d, most = count;
    }
    call.Out<int32_t>(1)[i] = best * 100 + most;
  }
}

void StructTransform(Call& call) {
  const std::byte* base = call.arguments[0].data.data();
  const auto field = [base]<typename T>(T, size_t at) {
    T value;
    std::memcpy(&value, base + at, sizeof value);
    return value;
  };
  const auto matrix = [&](int row, int column) { return field(0.0f, 12 * row + 4 * column); };
  for (uint32_t i = 0; i < call.Value<uint32_t>(5); ++i) {
    const float x = call.In<float>(1)[2 * i], y = call.In<float>(1)[2 * i + 1];
    for (int row = 0; row < 2; ++row) {
      call.Out<float>(2)[2 * i + row] =
          std::fma(matrix(row, 0), x, std::fma(matrix(row, 1), y, matrix(row, 2)));
    }
    call.Out<double>(3)[i] = field(0.0, 32) * matrix(i % 2, i % 3);
    call.Out<uint32_t>(4)[i] = (field(0u, 40 + 4 * (i % 4)) << field(int8_t{}, 24)) + field(int16_t{}, 26);
  }
}

}  // namespace

void AddLanguageReferences(References& references) {
  references["constant_lookup"] = ConstantLookup;
  references["constant_polynomial"] = ConstantPolynomial;
  references["call_struct_by_value"] = StructByValue;
  references["call_with_pointers"] = WithPointers;
  references["call_recursive"] = Recursive;
  references["call_function_pointer"] = FunctionPointer;
  references["switch_stack_machine"] = StackMachine;
  references["switch_divergent"] = SwitchDivergent;
  references["local_array_digits"] = LocalDigits;
  references["struct_transform"] = StructTransform;
}

}  // namespace corpus
