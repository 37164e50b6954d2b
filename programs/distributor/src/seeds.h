// The addresses of this program's accounts, and associated token addresses.
#pragma once
#include "address.h"
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

// Checks that `key` is the associated token address of `owner` and `mint`.
static Result expect_associated(const Key *key, const Key *owner, const Key *mint) {
  u8 bump = 0;
  Slice seeds[] = {key_slice(owner), key_slice(&TOKEN_PROGRAM), key_slice(mint), {&bump, 1}};
  return find_address(key, seeds, COUNT(seeds), &ASSOCIATED_TOKEN_PROGRAM, &bump);
}
