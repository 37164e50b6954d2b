// Derived addresses. The last seed is the bump. Slices point to the values, so the values must stay in scope while the seeds are used.
#pragma once
#include "bytes.h"
#include "check.h"

// Checks that `key` is the address of these seeds, which include the bump.
static Result expect_address(const Key *key, const Slice *seeds, u64 count, const Key *program) {
  Key address;
  REQUIRE(sol_create_program_address(seeds, count, program, &address) == 0, WrongAddress);
  REQUIRE(same(key, &address), WrongAddress);
  return OK;
}

// Checks that `key` is the canonical address of these seeds, and writes the canonical bump to `bump`, the last seed. The same seeds
// with another bump give another address, so only the canonical bump is accepted.
static Result find_address(const Key *key, const Slice *seeds, u64 count, const Key *program, u8 *bump) {
  Key address;
  REQUIRE(sol_try_find_program_address(seeds, count - 1, program, &address, bump) == 0, RuntimeError);
  REQUIRE(same(key, &address), WrongAddress);
  return OK;
}
