// open: opens an epoch. Precondition: the vault is funded.
#pragma once
#include "state.h"
#include "system.h"
#include "token.h"

#define DAY 86400l
#define MIN_OPEN_SECONDS (1 * DAY)
#define MAX_OPEN_SECONDS (400 * DAY)

// Flag that accepts a mint with a freeze authority. A freeze authority can block claims at any time, so the caller must accept it.
#define MINT_MAY_FREEZE 1

typedef struct {
  u8 kind, flags, zero[2];
  u32 leaves;
  u64 number, total;
  i64 expiry;
  Key root;
} OpenData;
_Static_assert(sizeof(OpenData) == 64, "layout of open");

static Result expect_terms(const OpenData *data) {
  REQUIRE((data->flags & ~MINT_MAY_FREEZE) == 0 && all_zero(data->zero, sizeof(data->zero)), BadInstruction);
  REQUIRE(data->leaves != 0 && data->total != 0, EmptyEpoch);
  Clock clock;
  REQUIRE(sol_get_clock_sysvar(&clock) == 0, RuntimeError);
  REQUIRE(data->expiry >= clock.unix_timestamp + MIN_OPEN_SECONDS, BadExpiry);
  REQUIRE(data->expiry <= clock.unix_timestamp + MAX_OPEN_SECONDS, BadExpiry);
  return OK;
}

// Accepts only mints of the classic token program. With extensions of Token-2022 a transfer may move another amount than requested.
static Result expect_mint(const AccountInfo *account, bool may_freeze) {
  const Mint *mint = as_mint(account);
  REQUIRE(mint && mint->is_initialized == 1, BadMint);
  REQUIRE(may_freeze || all_zero(mint->has_freeze_authority, sizeof(mint->has_freeze_authority)), MintCanFreeze);
  return OK;
}

static Result expect_vault(const AccountInfo *account, const Key *mint, const Key *epoch, u64 total) {
  TRY(expect_token_account(account, mint, epoch, BadVault, VaultFrozen));
  TRY(expect_associated(account->key, epoch, mint));
  const TokenAccount *vault = as_token_account(account);
  REQUIRE(vault->has_delegate == 0, BadVault);
  REQUIRE(all_zero(vault->has_close_authority, sizeof(vault->has_close_authority)), BadVault);
  REQUIRE(vault->amount >= total, Unfunded);
  return OK;
}

// Checks that the refund account is an associated token account. If it is closed later, any account can create it again at the same address.
static Result expect_refund(const AccountInfo *account, const Key *mint) {
  const TokenAccount *refund = as_token_account(account);
  REQUIRE(refund, BadRefund);
  TRY(expect_token_account(account, mint, &refund->owner, BadRefund, RefundFrozen));
  return expect_associated(account->key, &refund->owner, mint);
}

static Result open(const Input *input) {
  enum { PAYER, AUTHORITY, MINT, EPOCH, VAULT, REFUND, SYSTEM, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  const OpenData *data = (const OpenData *)input->data;
  REQUIRE(input->data_len == sizeof(OpenData), BadInstruction);
  TRY(expect_accounts(input, ACCOUNTS, AUTHORITY));
  REQUIRE(accounts[PAYER].is_signer && accounts[AUTHORITY].is_signer, MissingSignature);
  REQUIRE(accounts[PAYER].is_writable && accounts[EPOCH].is_writable, NotWritable);
  REQUIRE(same(accounts[SYSTEM].key, &SYSTEM_PROGRAM), WrongProgram);
  const Key *authority = accounts[AUTHORITY].key, *mint = accounts[MINT].key, *key = accounts[EPOCH].key;

  TRY(expect_terms(data));
  TRY(expect_mint(&accounts[MINT], data->flags & MINT_MAY_FREEZE));
  u8 bump;
  Slice seeds[EPOCH_SEEDS];
  epoch_seeds(seeds, authority, mint, &data->number, &bump);
  TRY(find_address(key, seeds, EPOCH_SEEDS, &input->program, &bump));
  REQUIRE(unused(&accounts[EPOCH]), AlreadyOpened);
  TRY(expect_vault(&accounts[VAULT], mint, key, data->total));
  TRY(expect_refund(&accounts[REFUND], mint));

  TRY(create_account(&accounts[PAYER], &accounts[EPOCH], sizeof(Epoch), &input->program, &(Signer){seeds, EPOCH_SEEDS}));
  *(Epoch *)accounts[EPOCH].data = (Epoch){
      .tag = EPOCH_TAG,
      .version = VERSION,
      .state = OPEN,
      .bump = bump,
      .leaves = data->leaves,
      .number = data->number,
      .total = data->total,
      .expiry = data->expiry,
      .root = data->root,
      .authority = *authority,
      .mint = *mint,
      .vault = *accounts[VAULT].key,
      .refund = *accounts[REFUND].key,
      .refund_owner = as_token_account(&accounts[REFUND])->owner,
  };
  return OK;
}
