import { expect, test } from '@jest/globals';
import { parseBurns } from '#platform/solana/burn-instructions.ts';
import type { FetchedTransaction } from '#platform/solana/fetched-transaction.ts';
import { TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const [wallet, delegate, account, mint, other] = Array.from({ length: 5 }, randomAddress) as [string, string, string, string, string];
/** Returns a burn of 7 base units. */
const burn = (code: 8 | 15, { of = mint, by = wallet } = {}) => ({
  program: TOKEN_PROGRAM.toBase58(),
  accounts: [account, of, by],
  data: Buffer.from([code, 7, 0, 0, 0, 0, 0, 0, 0, ...(code === 15 ? [6] : [])]),
});
const outcome = { failed: false, tokensBefore: [{ account, mint, owner: wallet, amount: 100n }], tokensAfter: [], innerInstructions: [] };
const transaction = (changes: Partial<FetchedTransaction> = {}): FetchedTransaction => ({
  ...{ signature: 'a', slot: 9, blockTime: 77, blockhash: 'b', signers: [wallet] },
  ...{ instructions: [burn(8), burn(15), burn(15, { of: other }), burn(15, { by: delegate })], outcome },
  ...changes,
});

test('burns of a mint are those of its own instructions, with the wallet and the time of the block', () => {
  expect(parseBurns(transaction(), mint)).toEqual({
    at: 77_000,
    memos: [],
    burns: [
      { index: 0, wallet, amount: 7n },
      { index: 1, wallet, amount: 7n },
    ],
    delegatedBurns: [{ index: 3, wallet, amount: 7n }],
  });
});

test('a failed transaction burned nothing', () => {
  expect(parseBurns(transaction({ outcome: { ...outcome, failed: true } }), mint)).toEqual({ at: 77_000, memos: [], burns: [], delegatedBurns: [] });
});

test('the burns are unknown while the RPC node lacks the outcome or the time of the block', () => {
  expect(parseBurns(transaction({ outcome: null }), mint)).toBeNull();
  expect(parseBurns(transaction({ blockTime: null }), mint)).toBeNull();
});
