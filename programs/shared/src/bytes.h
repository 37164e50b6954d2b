// Comparing and copying of bytes.
#pragma once
#include "runtime.h"

static inline bool same(const Key *a, const Key *b) {
  return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->words[2] == b->words[2] && a->words[3] == b->words[3];
}

// Compares two keys as byte strings. Big-endian words have the same order as byte strings.
static inline bool less(const Key *a, const Key *b) {
  for (int i = 0; i < 4; i++)
    if (a->words[i] != b->words[i]) return __builtin_bswap64(a->words[i]) < __builtin_bswap64(b->words[i]);
  return 0;
}

// Copies byte by byte, because `from` may be unaligned.
static inline void copy_key(Key *to, const u8 *from) {
  for (int i = 0; i < 32; i++) to->bytes[i] = from[i];
}

static inline bool all_zero(const u8 *bytes, u64 len) {
  u8 any = 0;
  for (u64 i = 0; i < len; i++) any |= bytes[i];
  return any == 0;
}

static inline Slice key_slice(const Key *key) { return (Slice){key->bytes, sizeof(Key)}; }
