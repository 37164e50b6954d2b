// Checks that end an instruction with an error code. Each program has its own codes, in its own errors.h. The shared headers use OK,
// BadAccounts, WrongAddress, BadRent and RuntimeError, so each program must define these codes.
#pragma once
#include "errors.h"

// TRY returns the error of a failed step. REQUIRE returns `otherwise` when the condition is false.
#define TRY(step)                                                                                                                    \
  do {                                                                                                                               \
    Result result_ = (step);                                                                                                         \
    if (result_ != OK) return result_;                                                                                               \
  } while (0)
#define REQUIRE(condition, otherwise)                                                                                                \
  do {                                                                                                                               \
    if (!(condition)) return (otherwise);                                                                                            \
  } while (0)
