// claim: pays one leaf to its wallet, once. Any account may submit it.
#pragma once
#include "merkle.h"
#include "state.h"
#include "system.h"
#include "token.h"

// Instruction data before the proof. The proof is the sibling hashes from the leaf to the root, 32 bytes each.
typedef struct {
  u8 kind, zero[3];
  u32 index;
  u64 amount;
} ClaimData;
_Static_assert(sizeof(ClaimData) == 16, "layout of claim");

// Checks that the account is the wallet's associated token account and that the wallet still owns it. Rejects a frozen account, so that
// the claim stays open.
static Result expect_destination(const AccountInfo *account, const Key *mint, const Key *wallet) {
  TRY(expect_associated(account->key, wallet, mint));
  REQUIRE(!unused(account), NoDestination);
  return expect_token_account(account, mint, wallet, BadDestination, DestinationFrozen);
}

static Result expect_proof(const Epoch *epoch, const ClaimData *data, u64 data_len, const Key *wallet) {
  Key node;
  TRY(hash_leaf(epoch->number, data->index, wallet, data->amount, &node));
  TRY(climb(&node, (const Key *)(data + 1), (data_len - sizeof(ClaimData)) / sizeof(Key)));
  REQUIRE(same(&node, &epoch->root), BadProof);
  return OK;
}

// Returns the page with this number. The first claim of a page creates the account and stores its bump; later claims read the bump.
INLINED Result open_page(const Input *input, const AccountInfo *payer, const AccountInfo *account, const Key *epoch_key, const Epoch *epoch,
                         u32 number, Page **page) {
  if (unused(account)) {
    u8 bump;
    Slice seeds[PAGE_SEEDS];
    page_seeds(seeds, epoch_key, &number, &bump);
    TRY(find_address(account->key, seeds, PAGE_SEEDS, &input->program, &bump));
    TRY(create_account(payer, account, page_size(epoch->leaves, number), &input->program, &(Signer){seeds, PAGE_SEEDS}));
    *(Page *)account->data = (Page){.tag = PAGE_TAG, .version = VERSION, .bump = bump, .number = number, .epoch = *epoch_key};
    *page = (Page *)account->data;
    return OK;
  }
  TRY(read_page(input, account, epoch_key, epoch, page));
  REQUIRE((*page)->number == number, NotAPage);
  return OK;
}

static Result set_bit(Page *page, u32 bit) {
  u8 *byte = (u8 *)(page + 1) + bit / 8;
  u8 mask = (u8)(1u << bit % 8);
  REQUIRE((*byte & mask) == 0, AlreadyClaimed);
  *byte |= mask;
  return OK;
}

static Result claim(const Input *input) {
  enum { PAYER, EPOCH, PAGE, VAULT, WALLET, DESTINATION, TOKEN, SYSTEM, ACCOUNTS };
  const AccountInfo *accounts = input->accounts;
  const ClaimData *data = (const ClaimData *)input->data;
  REQUIRE(input->data_len >= sizeof(ClaimData) && (input->data_len - sizeof(ClaimData)) % sizeof(Key) == 0, BadInstruction);
  REQUIRE(input->data_len <= sizeof(ClaimData) + MAX_PROOF * sizeof(Key), BadInstruction);
  REQUIRE(all_zero(data->zero, sizeof(data->zero)), BadInstruction);
  TRY(expect_accounts(input, ACCOUNTS, WALLET)); // the wallet may be the payer
  REQUIRE(accounts[PAYER].is_signer, MissingSignature);
  REQUIRE(accounts[PAYER].is_writable && accounts[EPOCH].is_writable && accounts[PAGE].is_writable, NotWritable);
  REQUIRE(accounts[VAULT].is_writable && accounts[DESTINATION].is_writable, NotWritable);
  REQUIRE(same(accounts[TOKEN].key, &TOKEN_PROGRAM) && same(accounts[SYSTEM].key, &SYSTEM_PROGRAM), WrongProgram);
  const Key *key = accounts[EPOCH].key, *wallet = accounts[WALLET].key;

  Epoch *epoch;
  TRY(read_epoch(input, &accounts[EPOCH], &epoch));
  REQUIRE(epoch->state == OPEN, NotOpen);
  Clock clock;
  REQUIRE(sol_get_clock_sysvar(&clock) == 0, RuntimeError);
  REQUIRE(clock.unix_timestamp < epoch->expiry, Expired);
  REQUIRE(data->index < epoch->leaves, BadIndex);
  TRY(expect_proof(epoch, data, input->data_len, wallet));
  REQUIRE(same(accounts[VAULT].key, &epoch->vault), WrongAddress);
  TRY(expect_token_account(&accounts[VAULT], &epoch->mint, key, BadVault, VaultFrozen));
  TRY(expect_destination(&accounts[DESTINATION], &epoch->mint, wallet));

  Page *page;
  TRY(open_page(input, &accounts[PAYER], &accounts[PAGE], key, epoch, data->index / CLAIMS_PER_PAGE, &page));
  TRY(set_bit(page, data->index % CLAIMS_PER_PAGE));
  REQUIRE(data->amount <= epoch->total - epoch->claimed, ExceedsTotal);
  epoch->claimed += data->amount;

  Slice seeds[EPOCH_SEEDS];
  epoch_seeds(seeds, &epoch->authority, &epoch->mint, &epoch->number, &epoch->bump);
  return transfer_tokens(&accounts[VAULT], &accounts[DESTINATION], &accounts[EPOCH], data->amount, &(Signer){seeds, EPOCH_SEEDS});
}
