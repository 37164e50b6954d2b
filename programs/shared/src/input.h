// The input of an instruction: accounts, data and program id.
#pragma once
#include "bytes.h"
#include "check.h"
#include "programs.h"

#define MAX_ACCOUNTS 8

// Bytes that the runtime reserves after an account's data, so that the data can grow.
#define GROWTH 10240

// Bytes of an account record before the account's data: four flags, padding, key, owner, lamports and the length of the data.
#define RECORD_HEAD 88
#define NOT_REPEATED 0xff

typedef struct {
  AccountInfo accounts[MAX_ACCOUNTS];
  u64 accounts_len;
  u32 repeats; // bit i: account i repeats an earlier account
  u32 first;   // bit i: account i repeats account 0
  const u8 *data;
  u64 data_len;
  Key program;
} Input;

_Static_assert(MAX_ACCOUNTS <= 32, "a bit for each account");

// Parses the input. Each account record starts at a multiple of 8, because the runtime pads the records.
static Result read_input(Input *input, u8 *at) {
  u64 count = *(u64 *)at;
  at += sizeof(u64);
  REQUIRE(count <= MAX_ACCOUNTS, BadAccounts);
  input->accounts_len = count;
  input->repeats = input->first = 0;

  for (u64 i = 0; i < count; i++) {
    AccountInfo *account = &input->accounts[i];
    u8 earlier = at[0];
    if (earlier != NOT_REPEATED) {
      REQUIRE(earlier < i, BadAccounts);
      *account = input->accounts[earlier];
      input->repeats |= 1u << i;
      if (earlier == 0) input->first |= 1u << i;
      at += sizeof(u64);
      continue;
    }
    account->is_signer = at[1] != 0;
    account->is_writable = at[2] != 0;
    account->executable = at[3] != 0;
    account->key = (Key *)(at + 8);
    account->owner = (Key *)(at + 40);
    account->lamports = (u64 *)(at + 72);
    account->data_len = *(u64 *)(at + 80);
    account->data = at + RECORD_HEAD;
    at += RECORD_HEAD + ((account->data_len + GROWTH + 7) & ~7ul);
    account->rent_epoch = *(u64 *)at;
    at += sizeof(u64);
  }

  input->data_len = *(u64 *)at;
  input->data = at + sizeof(u64);
  copy_key(&input->program, input->data + input->data_len);
  return OK;
}

// Returns a pointer to the current length of an account's data. A called program may have changed it.
static inline u64 *length(const AccountInfo *account) { return (u64 *)(account->data - sizeof(u64)); }

static inline bool owned_by(const AccountInfo *account, const Key *program) { return same(account->owner, program); }

// Returns whether no account was created at this address. The address may hold lamports.
static inline bool unused(const AccountInfo *account) { return *length(account) == 0 && owned_by(account, &SYSTEM_PROGRAM); }

#define NO_ACCOUNT 0

// Checks that there are exactly `count` accounts without repeats. Only the account at index `may_be_first` may repeat account 0.
static inline Result expect_accounts(const Input *input, u64 count, u32 may_be_first) {
  REQUIRE(input->accounts_len == count, BadAccounts);
  u32 allowed = may_be_first == NO_ACCOUNT ? 0 : input->first & (1u << may_be_first);
  REQUIRE(input->repeats == allowed, BadAccounts);
  return OK;
}
