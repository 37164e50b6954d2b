// The accounts of this program. Integers are little-endian. No account is ever deleted.
#pragma once
#include "address.h"
#include "input.h"

// The first 8 bytes of an account, which identify its type: the texts "CoinopDr" and "CoinopCm".
#define DRAWS_TAG 0x7244706f6e696f43ul
#define COMMITMENT_TAG 0x6d43706f6e696f43ul
#define VERSION 1

// Flag of a draws account that was created without the limits of init_draws. Verifiers accept its rounds only as development rounds.
#define DEVELOPMENT 1

// The facts that hold for all rounds of a founder. Only the committer can change.
typedef struct {
  u64 tag;
  u8 version, flags, bump, zero;
  u32 period;         // seconds between two rounds of the beacon
  i64 genesis;        // time of round 1 of the beacon, Unix time in seconds
  u32 margin, window; // a beacon round must be margin to margin + window seconds ahead
  Key founder;        // created this account and may replace the committer
  Key committer;      // signs commitments
  Key chain_hash;     // identifies the beacon
  Key receipt_key;    // signs receipts: an ed25519 public key
} Draws;

typedef struct {
  u8 bytes[16];
} RoundId;

// The commitment of a round, written once.
typedef struct {
  u64 tag;
  u8 version, bump, zero[6];
  RoundId round_id;
  u64 beacon_round;   // decides the draw
  u64 slot;           // slot and time of the commitment, from the clock
  i64 unix_timestamp;
  Key leaf;           // hash over the entries and the parameters of the round
  Key draws;
} Commitment;

_Static_assert(OFFSET(Draws, version) == 8 && OFFSET(Draws, flags) == 9 && OFFSET(Draws, bump) == 10, "layout of draws");
_Static_assert(OFFSET(Draws, zero) == 11 && OFFSET(Draws, period) == 12 && OFFSET(Draws, genesis) == 16, "layout of draws");
_Static_assert(OFFSET(Draws, margin) == 24 && OFFSET(Draws, window) == 28 && OFFSET(Draws, founder) == 32, "layout of draws");
_Static_assert(OFFSET(Draws, committer) == 64 && OFFSET(Draws, chain_hash) == 96, "layout of draws");
_Static_assert(OFFSET(Draws, receipt_key) == 128 && sizeof(Draws) == 160, "layout of draws");
_Static_assert(OFFSET(Commitment, version) == 8 && OFFSET(Commitment, bump) == 9 && OFFSET(Commitment, zero) == 10, "layout of a commitment");
_Static_assert(OFFSET(Commitment, round_id) == 16 && OFFSET(Commitment, beacon_round) == 32, "layout of a commitment");
_Static_assert(OFFSET(Commitment, slot) == 40 && OFFSET(Commitment, unix_timestamp) == 48, "layout of a commitment");
_Static_assert(OFFSET(Commitment, leaf) == 56 && OFFSET(Commitment, draws) == 88 && sizeof(Commitment) == 120, "layout of a commitment");

static const u8 DRAWS_SEED[] = {'d', 'r', 'a', 'w', 's'};
static const u8 COMMITMENT_SEED[] = {'c', 'o', 'm', 'm', 'i', 't', 'm', 'e', 'n', 't'};

// Number of seeds, including the bump.
#define DRAWS_SEEDS 3
#define COMMITMENT_SEEDS 4

static inline void draws_seeds(Slice seeds[DRAWS_SEEDS], const Key *founder, const u8 *bump) {
  seeds[0] = (Slice){DRAWS_SEED, sizeof(DRAWS_SEED)};
  seeds[1] = key_slice(founder);
  seeds[2] = (Slice){bump, 1};
}

static inline void commitment_seeds(Slice seeds[COMMITMENT_SEEDS], const Key *draws, const RoundId *round_id, const u8 *bump) {
  seeds[0] = (Slice){COMMITMENT_SEED, sizeof(COMMITMENT_SEED)};
  seeds[1] = key_slice(draws);
  seeds[2] = (Slice){round_id->bytes, sizeof(RoundId)};
  seeds[3] = (Slice){bump, 1};
}

// Reads a draws account of this program. Checks that the account is at the address derived from its own fields.
static Result read_draws(const Input *input, const AccountInfo *account, Draws **result) {
  REQUIRE(owned_by(account, &input->program) && *length(account) == sizeof(Draws), NotDraws);
  Draws *draws = (Draws *)account->data;
  REQUIRE(draws->tag == DRAWS_TAG && draws->version == VERSION, NotDraws);

  Slice seeds[DRAWS_SEEDS];
  draws_seeds(seeds, &draws->founder, &draws->bump);
  TRY(expect_address(account->key, seeds, DRAWS_SEEDS, &input->program));
  *result = draws;
  return OK;
}
