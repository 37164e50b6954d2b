// init_draws and rotate: the instructions of the founder.
#pragma once
#include "state.h"
#include "system.h"

#define MIN_MARGIN 60
#define MAX_WINDOW 600
#define MAX_PERIOD 86400

typedef struct {
  u8 kind, flags, zero[2];
  u32 period;
  i64 genesis;
  u32 margin, window;
  Key committer, chain_hash, receipt_key;
} InitData;
_Static_assert(OFFSET(InitData, genesis) == 8 && OFFSET(InitData, committer) == 24, "layout of init_draws");
_Static_assert(sizeof(InitData) == 120, "layout of init_draws");

typedef struct {
  u8 kind, zero[7];
  Key committer;
} RotateData;
_Static_assert(sizeof(RotateData) == 40, "layout of rotate");

// Checks the limits that make commitments meaningful. A development account has no limits.
static Result expect_limits(const InitData *data) {
  if (data->flags & DEVELOPMENT) return OK;
  REQUIRE(data->margin >= MIN_MARGIN, BadMargin);
  REQUIRE(data->window >= data->margin && data->window <= MAX_WINDOW, BadWindow);
  REQUIRE(data->period > 0 && data->period <= MAX_PERIOD, BadPeriod);
  Clock clock;
  REQUIRE(sol_get_clock_sysvar(&clock) == 0, RuntimeError);
  REQUIRE(data->genesis > 0 && data->genesis <= clock.unix_timestamp, BadGenesis);
  return OK;
}

// Creates the draws account of a founder, once. The founder signs, so nobody can choose the facts of another founder's rounds.
static Result init_draws(const Input *input) {
  enum { PAYER, FOUNDER, DRAWS, SYSTEM, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  const InitData *data = (const InitData *)input->data;
  REQUIRE(input->data_len == sizeof(InitData), BadInstruction);
  REQUIRE((data->flags & ~DEVELOPMENT) == 0 && all_zero(data->zero, sizeof(data->zero)), BadInstruction);
  TRY(expect_accounts(input, ACCOUNTS, FOUNDER));
  REQUIRE(accounts[PAYER].is_signer && accounts[FOUNDER].is_signer, MissingSignature);
  REQUIRE(accounts[PAYER].is_writable && accounts[DRAWS].is_writable, NotWritable);
  REQUIRE(same(accounts[SYSTEM].key, &SYSTEM_PROGRAM), WrongProgram);
  TRY(expect_limits(data));

  u8 bump;
  Slice seeds[DRAWS_SEEDS];
  draws_seeds(seeds, accounts[FOUNDER].key, &bump);
  TRY(find_address(accounts[DRAWS].key, seeds, DRAWS_SEEDS, &input->program, &bump));
  REQUIRE(unused(&accounts[DRAWS]), AlreadyFounded);

  TRY(create_account(&accounts[PAYER], &accounts[DRAWS], sizeof(Draws), &input->program, &(Signer){seeds, DRAWS_SEEDS}));
  *(Draws *)accounts[DRAWS].data = (Draws){
      .tag = DRAWS_TAG,
      .version = VERSION,
      .flags = data->flags,
      .bump = bump,
      .period = data->period,
      .genesis = data->genesis,
      .margin = data->margin,
      .window = data->window,
      .founder = *accounts[FOUNDER].key,
      .committer = data->committer,
      .chain_hash = data->chain_hash,
      .receipt_key = data->receipt_key,
  };
  return OK;
}

// Replaces the committer. Existing commitments stay valid.
static Result rotate(const Input *input) {
  enum { FOUNDER, DRAWS, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  const RotateData *data = (const RotateData *)input->data;
  REQUIRE(input->data_len == sizeof(RotateData) && all_zero(data->zero, sizeof(data->zero)), BadInstruction);
  TRY(expect_accounts(input, ACCOUNTS, NO_ACCOUNT));
  REQUIRE(accounts[FOUNDER].is_signer, MissingSignature);
  REQUIRE(accounts[DRAWS].is_writable, NotWritable);

  Draws *draws;
  TRY(read_draws(input, &accounts[DRAWS], &draws));
  REQUIRE(same(accounts[FOUNDER].key, &draws->founder), WrongFounder);
  draws->committer = data->committer;
  return OK;
}
