// commit: stores the commitment of a round, once.
#pragma once
#include "state.h"
#include "system.h"

#define MAX_ROUND 0x100000000ul // 2^32
#define MAX_TIME 0x7ffffffffffffffful

typedef struct {
  u8 kind, zero[7];
  RoundId round_id;
  Key leaf;
  u64 beacon_round;
} CommitData;
_Static_assert(OFFSET(CommitData, round_id) == 8 && OFFSET(CommitData, leaf) == 24, "layout of commit");
_Static_assert(OFFSET(CommitData, beacon_round) == 56 && sizeof(CommitData) == 64, "layout of commit");

// Checks that the time of the beacon round is margin to margin + window seconds after `now`.
static Result expect_ahead(const Draws *draws, u64 beacon_round, i64 now) {
  REQUIRE(beacon_round >= 1 && beacon_round <= MAX_ROUND, BadRound);
  u64 after_genesis = (beacon_round - 1) * draws->period; // at most (2^32 - 1)^2, which fits into 64 bits without a sign
  REQUIRE(after_genesis <= MAX_TIME, BadRound);
  i64 time, ahead;
  REQUIRE(!__builtin_add_overflow(draws->genesis, (i64)after_genesis, &time), BadRound);
  REQUIRE(!__builtin_sub_overflow(time, now, &ahead), BadRound);
  REQUIRE(ahead >= (i64)draws->margin, TooSoon);
  REQUIRE(ahead <= (i64)draws->margin + (i64)draws->window, TooFar);
  return OK;
}

static Result commit(const Input *input) {
  enum { PAYER, COMMITTER, DRAWS, COMMITMENT, SYSTEM, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  const CommitData *data = (const CommitData *)input->data;
  REQUIRE(input->data_len == sizeof(CommitData) && all_zero(data->zero, sizeof(data->zero)), BadInstruction);
  TRY(expect_accounts(input, ACCOUNTS, COMMITTER));
  REQUIRE(accounts[PAYER].is_signer && accounts[COMMITTER].is_signer, MissingSignature);
  REQUIRE(accounts[PAYER].is_writable && accounts[COMMITMENT].is_writable, NotWritable);
  REQUIRE(same(accounts[SYSTEM].key, &SYSTEM_PROGRAM), WrongProgram);

  Draws *draws;
  TRY(read_draws(input, &accounts[DRAWS], &draws));
  REQUIRE(same(accounts[COMMITTER].key, &draws->committer), WrongCommitter);

  u8 bump;
  Slice seeds[COMMITMENT_SEEDS];
  commitment_seeds(seeds, accounts[DRAWS].key, &data->round_id, &bump);
  TRY(find_address(accounts[COMMITMENT].key, seeds, COMMITMENT_SEEDS, &input->program, &bump));
  REQUIRE(unused(&accounts[COMMITMENT]), AlreadyCommitted);
  Clock clock;
  REQUIRE(sol_get_clock_sysvar(&clock) == 0, RuntimeError);
  TRY(expect_ahead(draws, data->beacon_round, clock.unix_timestamp));

  TRY(create_account(&accounts[PAYER], &accounts[COMMITMENT], sizeof(Commitment), &input->program, &(Signer){seeds, COMMITMENT_SEEDS}));
  *(Commitment *)accounts[COMMITMENT].data = (Commitment){
      .tag = COMMITMENT_TAG,
      .version = VERSION,
      .bump = bump,
      .round_id = data->round_id,
      .beacon_round = data->beacon_round,
      .slot = clock.slot,
      .unix_timestamp = clock.unix_timestamp,
      .leaf = data->leaf,
      .draws = *accounts[DRAWS].key,
  };
  return OK;
}
