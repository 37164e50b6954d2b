// Mints and token accounts of the SPL token program: reading, transferring, closing.
#pragma once
#include "seeds.h"
#include "invoke.h"

// Instruction numbers of the token program; the first byte of the instruction data.
#define TOKEN_TRANSFER 3
#define TOKEN_CLOSE_ACCOUNT 9

#define MINT_BYTES 82
#define TOKEN_ACCOUNT_BYTES 165

// A u32 before an optional field is 0 when the field is not set. Unaligned fields are declared as bytes.
typedef struct {
  u32 has_mint_authority;
  u8 mint_authority[32];
  u8 supply[8];
  u8 decimals;
  u8 is_initialized;
  u8 has_freeze_authority[4];
  u8 freeze_authority[32];
} Mint;

typedef struct {
  Key mint, owner;
  u64 amount;
  u32 has_delegate;
  u8 delegate[32];
  u8 state;
  u8 native_reserve[12], delegated_amount[8];
  u8 has_close_authority[4];
  u8 close_authority[32];
} TokenAccount;

_Static_assert(OFFSET(Mint, is_initialized) == 45 && OFFSET(Mint, has_freeze_authority) == 46, "layout of a mint");
_Static_assert(OFFSET(Mint, freeze_authority) + 32 == MINT_BYTES, "layout of a mint");
_Static_assert(OFFSET(TokenAccount, owner) == 32 && OFFSET(TokenAccount, amount) == 64, "layout of a token account");
_Static_assert(OFFSET(TokenAccount, has_delegate) == 72 && OFFSET(TokenAccount, state) == 108, "layout of a token account");
_Static_assert(OFFSET(TokenAccount, has_close_authority) == 129, "layout of a token account");
_Static_assert(OFFSET(TokenAccount, close_authority) + 32 == TOKEN_ACCOUNT_BYTES, "layout of a token account");

enum { TOKEN_INITIALIZED = 1, TOKEN_FROZEN = 2 };

// Returns the account's data as a mint or a token account; null when owner or length do not match.
static inline const Mint *as_mint(const AccountInfo *account) {
  return owned_by(account, &TOKEN_PROGRAM) && *length(account) == MINT_BYTES ? (const Mint *)account->data : 0;
}

static inline const TokenAccount *as_token_account(const AccountInfo *account) {
  return owned_by(account, &TOKEN_PROGRAM) && *length(account) == TOKEN_ACCOUNT_BYTES ? (const TokenAccount *)account->data : 0;
}

// Checks that the account is a token account of this mint and owner, initialized and not frozen.
static Result expect_token_account(const AccountInfo *account, const Key *mint, const Key *owner, Result bad, Result frozen) {
  const TokenAccount *token = as_token_account(account);
  REQUIRE(token, bad);
  REQUIRE(same(&token->mint, mint) && same(&token->owner, owner), bad);
  REQUIRE(token->state != TOKEN_FROZEN, frozen);
  REQUIRE(token->state == TOKEN_INITIALIZED, bad);
  return OK;
}

// Transfers `amount` between two token accounts, and checks afterwards that both balances changed by exactly `amount`. Precondition: the
// accounts differ and are valid token accounts.
static Result transfer_tokens(const AccountInfo *from, const AccountInfo *to, const AccountInfo *owner, u64 amount, const Signer *signer) {
  u64 before_from = as_token_account(from)->amount, before_to = as_token_account(to)->amount;

  struct __attribute__((packed)) { u8 kind; u64 amount; } data = {TOKEN_TRANSFER, amount};
  _Static_assert(sizeof(data) == 9, "layout of the token program");
  AccountMeta from_meta = {from->key, 1, 0}, to_meta = {to->key, 1, 0}, owner_meta = {owner->key, 0, 1};
  TRY(invoke(&(Call){&TOKEN_PROGRAM, {from, to, owner}, {from_meta, to_meta, owner_meta}, 3, (u8 *)&data, sizeof(data), signer}));

  const TokenAccount *after_from = as_token_account(from), *after_to = as_token_account(to);
  REQUIRE(after_from && after_to, BadTransfer);
  REQUIRE(before_from >= amount && after_from->amount == before_from - amount, BadTransfer);
  REQUIRE(after_to->amount >= before_to && after_to->amount - before_to == amount, BadTransfer);
  return OK;
}

// Closes an empty token account; its lamports go to `to`.
static Result close_token_account(const AccountInfo *account, const AccountInfo *to, const AccountInfo *owner, const Signer *signer) {
  u8 data = TOKEN_CLOSE_ACCOUNT;
  AccountMeta account_meta = {account->key, 1, 0}, to_meta = {to->key, 1, 0}, owner_meta = {owner->key, 0, 1};
  TRY(invoke(&(Call){&TOKEN_PROGRAM, {account, to, owner}, {account_meta, to_meta, owner_meta}, 3, &data, sizeof(data), signer}));
  REQUIRE(*account->lamports == 0, BadTransfer);
  return OK;
}
