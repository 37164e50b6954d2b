// The Merkle tree of an epoch's claims. A leaf hashes 53 bytes and a node 64 bytes, so a leaf cannot be used as a node or a node as a leaf.
//   leaf = sha256(0x00 | epoch number u64 | index u32 | wallet | amount u64), integers little-endian
//   node = sha256(smaller child | larger child); a node without a sibling moves up unchanged
#pragma once
#include "bytes.h"
#include "check.h"

#define MAX_PROOF 32

static Result hash_leaf(u64 epoch, u32 index, const Key *wallet, u64 amount, Key *hash) {
  u8 domain = 0;
  Slice parts[] = {{&domain, 1}, {(u8 *)&epoch, sizeof(epoch)}, {(u8 *)&index, sizeof(index)}, key_slice(wallet), {(u8 *)&amount, sizeof(amount)}};
  REQUIRE(sol_sha256(parts, COUNT(parts), hash) == 0, RuntimeError);
  return OK;
}

// Replaces `node` by the root that follows from `node` and its siblings.
static Result climb(Key *node, const Key *siblings, u64 count) {
  for (u64 i = 0; i < count; i++) {
    bool left = less(node, &siblings[i]);
    Slice parts[] = {key_slice(left ? node : &siblings[i]), key_slice(left ? &siblings[i] : node)};
    Key parent;
    REQUIRE(sol_sha256(parts, COUNT(parts), &parent) == 0, RuntimeError);
    *node = parent;
  }
  return OK;
}
