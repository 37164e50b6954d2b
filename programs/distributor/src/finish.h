// settle, close and close_page: end an epoch and refund its tokens and lamports.
#pragma once
#include "state.h"
#include "token.h"

static Result expect_only_kind(const Input *input) {
  REQUIRE(input->data_len == 1, BadInstruction);
  return OK;
}

// Transfers all tokens of the vault, also a surplus over the total, to the stored refund account. Skips the checks of the refund account
// when the vault is empty.
static Result refund(const AccountInfo *vault, const AccountInfo *to, const AccountInfo *account, const Epoch *epoch, const Signer *signer) {
  REQUIRE(same(vault->key, &epoch->vault) && same(to->key, &epoch->refund), WrongAddress);
  const TokenAccount *token = as_token_account(vault);
  REQUIRE(token, BadVault);
  if (token->amount == 0) return OK;
  TRY(expect_token_account(vault, &epoch->mint, account->key, BadVault, VaultFrozen));
  TRY(expect_token_account(to, &epoch->mint, &epoch->refund_owner, BadRefund, RefundFrozen));
  return transfer_tokens(vault, to, account, token->amount, signer);
}

// Ends an epoch early, for good. The authority signs.
static Result settle(const Input *input) {
  enum { AUTHORITY, EPOCH, VAULT, REFUND, TOKEN, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  TRY(expect_only_kind(input));
  TRY(expect_accounts(input, ACCOUNTS, NO_ACCOUNT));
  REQUIRE(accounts[AUTHORITY].is_signer, MissingSignature);
  REQUIRE(accounts[EPOCH].is_writable && accounts[VAULT].is_writable && accounts[REFUND].is_writable, NotWritable);
  REQUIRE(same(accounts[TOKEN].key, &TOKEN_PROGRAM), WrongProgram);

  Epoch *epoch;
  TRY(read_epoch(input, &accounts[EPOCH], &epoch));
  REQUIRE(same(accounts[AUTHORITY].key, &epoch->authority), WrongAuthority);
  REQUIRE(epoch->state == OPEN, NotOpen);
  epoch->state = SETTLED;

  Slice seeds[EPOCH_SEEDS];
  epoch_seeds(seeds, &epoch->authority, &epoch->mint, &epoch->number, &epoch->bump);
  return refund(&accounts[VAULT], &accounts[REFUND], &accounts[EPOCH], epoch, &(Signer){seeds, EPOCH_SEEDS});
}

// Closes an expired or settled epoch. Any account may submit it, because tokens go only to the stored refund account and lamports only to
// the authority.
static Result close(const Input *input) {
  enum { EPOCH, VAULT, REFUND, AUTHORITY, TOKEN, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  TRY(expect_only_kind(input));
  TRY(expect_accounts(input, ACCOUNTS, NO_ACCOUNT));
  REQUIRE(accounts[EPOCH].is_writable && accounts[VAULT].is_writable, NotWritable);
  REQUIRE(accounts[REFUND].is_writable && accounts[AUTHORITY].is_writable, NotWritable);
  REQUIRE(same(accounts[TOKEN].key, &TOKEN_PROGRAM), WrongProgram);

  Epoch *epoch;
  TRY(read_epoch(input, &accounts[EPOCH], &epoch));
  REQUIRE(same(accounts[AUTHORITY].key, &epoch->authority), WrongAuthority);
  REQUIRE(epoch->state == OPEN || epoch->state == SETTLED, NotOpen);
  Clock clock;
  REQUIRE(sol_get_clock_sysvar(&clock) == 0, RuntimeError);
  REQUIRE(epoch->state == SETTLED || clock.unix_timestamp >= epoch->expiry, NotExpired);
  epoch->state = CLOSED;

  Slice seeds[EPOCH_SEEDS];
  epoch_seeds(seeds, &epoch->authority, &epoch->mint, &epoch->number, &epoch->bump);
  Signer signer = {seeds, EPOCH_SEEDS};
  TRY(refund(&accounts[VAULT], &accounts[REFUND], &accounts[EPOCH], epoch, &signer));
  return close_token_account(&accounts[VAULT], &accounts[AUTHORITY], &accounts[EPOCH], &signer);
}

// Deletes a page of a closed epoch; its lamports go to the authority. The data and the owner are reset too, so that lamports sent to the
// address within the same transaction do not keep the page alive.
static Result close_page(const Input *input) {
  enum { EPOCH, PAGE, AUTHORITY, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  TRY(expect_only_kind(input));
  TRY(expect_accounts(input, ACCOUNTS, NO_ACCOUNT));
  REQUIRE(accounts[PAGE].is_writable && accounts[AUTHORITY].is_writable, NotWritable);

  Epoch *epoch;
  TRY(read_epoch(input, &accounts[EPOCH], &epoch));
  REQUIRE(same(accounts[AUTHORITY].key, &epoch->authority), WrongAuthority);
  REQUIRE(epoch->state == CLOSED, NotClosed);
  Page *page;
  TRY(read_page(input, &accounts[PAGE], accounts[EPOCH].key, epoch, &page));

  *accounts[AUTHORITY].lamports += *accounts[PAGE].lamports;
  *accounts[PAGE].lamports = 0;
  *length(&accounts[PAGE]) = 0;
  *accounts[PAGE].owner = SYSTEM_PROGRAM;
  return OK;
}
