// The accounts of this program. Integers are little-endian.
#pragma once
#include "seeds.h"
#include "input.h"

// The first 8 bytes of an account, which identify its type: the texts "CoinopEp" and "CoinopPg".
#define EPOCH_TAG 0x7045706f6e696f43ul
#define PAGE_TAG 0x6750706f6e696f43ul
#define VERSION 1

// The state of an epoch only increases. A closed epoch account is never deleted, so that its address cannot be opened again: the old pages
// would mark leaves of the new epoch as paid.
enum { OPEN = 1, SETTLED = 2, CLOSED = 3 };

typedef struct {
  u64 tag;
  u8 version, state, bump, zero;
  u32 leaves;
  u64 number, total, claimed;
  i64 expiry; // end of the claim period, Unix time in seconds
  Key root, authority, mint;
  Key vault;        // the epoch's associated token account
  Key refund;       // receives the unclaimed tokens: the associated token account of `refund_owner`
  Key refund_owner;
} Epoch;

// Header of a page, which marks the paid claims of 4,096 consecutive indexes. One bit per claim follows; the first claim is the lowest bit
// of the first byte.
typedef struct {
  u64 tag;
  u8 version, bump, zero[2];
  u32 number;
  Key epoch;
} Page;

#define CLAIMS_PER_PAGE 4096u

_Static_assert(OFFSET(Epoch, version) == 8 && OFFSET(Epoch, leaves) == 12 && OFFSET(Epoch, number) == 16, "layout of an epoch");
_Static_assert(OFFSET(Epoch, total) == 24 && OFFSET(Epoch, claimed) == 32 && OFFSET(Epoch, expiry) == 40, "layout of an epoch");
_Static_assert(OFFSET(Epoch, root) == 48 && OFFSET(Epoch, authority) == 80 && OFFSET(Epoch, mint) == 112, "layout of an epoch");
_Static_assert(OFFSET(Epoch, vault) == 144 && OFFSET(Epoch, refund) == 176 && OFFSET(Epoch, refund_owner) == 208, "layout of an epoch");
_Static_assert(sizeof(Epoch) == 240, "layout of an epoch");
_Static_assert(OFFSET(Page, version) == 8 && OFFSET(Page, number) == 12 && OFFSET(Page, epoch) == 16, "layout of a page");
_Static_assert(sizeof(Page) == 48 && CLAIMS_PER_PAGE % 8 == 0, "layout of a page");

static inline bool begins_with(const AccountInfo *account, u64 tag) {
  return *length(account) >= sizeof(u64) && *(u64 *)account->data == tag;
}

// Reads an epoch of this program. Checks that the account is at the address derived from its own fields.
static Result read_epoch(const Input *input, const AccountInfo *account, Epoch **result) {
  REQUIRE(owned_by(account, &input->program) && begins_with(account, EPOCH_TAG), NotAnEpoch);
  REQUIRE(*length(account) == sizeof(Epoch), NotAnEpoch);
  Epoch *epoch = (Epoch *)account->data;
  REQUIRE(epoch->version == VERSION, NotAnEpoch);

  Slice seeds[EPOCH_SEEDS];
  epoch_seeds(seeds, &epoch->authority, &epoch->mint, &epoch->number, &epoch->bump);
  TRY(expect_address(account->key, seeds, EPOCH_SEEDS, &input->program));
  *result = epoch;
  return OK;
}

// Returns the bytes of a page. The last page of an epoch is shorter.
static inline u64 page_size(u32 leaves, u32 number) {
  u64 rest = (u64)leaves - (u64)number * CLAIMS_PER_PAGE;
  u64 claims = rest < CLAIMS_PER_PAGE ? rest : CLAIMS_PER_PAGE;
  return sizeof(Page) + (claims + 7) / 8;
}

// Reads a page of this epoch. Checks that the account is at the address derived from its own fields.
static Result read_page(const Input *input, const AccountInfo *account, const Key *epoch_key, const Epoch *epoch, Page **result) {
  REQUIRE(owned_by(account, &input->program) && begins_with(account, PAGE_TAG), NotAPage);
  REQUIRE(*length(account) >= sizeof(Page), NotAPage);
  Page *page = (Page *)account->data;
  REQUIRE(page->version == VERSION && same(&page->epoch, epoch_key), NotAPage);
  REQUIRE((u64)page->number * CLAIMS_PER_PAGE < epoch->leaves, NotAPage);
  REQUIRE(*length(account) == page_size(epoch->leaves, page->number), NotAPage);

  Slice seeds[PAGE_SEEDS];
  page_seeds(seeds, epoch_key, &page->number, &page->bump);
  TRY(expect_address(account->key, seeds, PAGE_SEEDS, &input->program));
  *result = page;
  return OK;
}
