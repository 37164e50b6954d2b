// Derived addresses.
#pragma once
#include "bytes.h"
#include "errors.h"
#include "programs.h"

static const u8 EPOCH_SEED[] = {'e', 'p', 'o', 'c', 'h'};
static const u8 PAGE_SEED[] = {'c', 'l', 'a', 'i', 'm', 'e', 'd'};

// Number of seeds. The last seed is the bump. Slices point to the values, so the values must stay in scope while the seeds are used.
#define EPOCH_SEEDS 5
#define PAGE_SEEDS 4

static inline void epoch_seeds(Slice seeds[EPOCH_SEEDS], const Key *authority, const Key *mint, const u64 *number, const u8 *bump) {
  seeds[0] = (Slice){EPOCH_SEED, sizeof(EPOCH_SEED)};
  seeds[1] = key_slice(authority);
  seeds[2] = key_slice(mint);
  seeds[3] = (Slice){(const u8 *)number, sizeof(u64)};
  seeds[4] = (Slice){bump, 1};
}

static inline void page_seeds(Slice seeds[PAGE_SEEDS], const Key *epoch, const u32 *number, const u8 *bump) {
  seeds[0] = (Slice){PAGE_SEED, sizeof(PAGE_SEED)};
  seeds[1] = key_slice(epoch);
  seeds[2] = (Slice){(const u8 *)number, sizeof(u32)};
  seeds[3] = (Slice){bump, 1};
}

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

// Checks that `key` is the associated token address of `owner` and `mint`.
static Result expect_associated(const Key *key, const Key *owner, const Key *mint) {
  u8 bump = 0;
  Slice seeds[] = {key_slice(owner), key_slice(&TOKEN_PROGRAM), key_slice(mint), {&bump, 1}};
  return find_address(key, seeds, COUNT(seeds), &ASSOCIATED_TOKEN_PROGRAM, &bump);
}
