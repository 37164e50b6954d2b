import { expect, test } from '@jest/globals';
import { diagnose } from '#areas/payouts/batches/diagnose.ts';
import type { App } from '#platform/app.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const [treasury, mint, wallet, other] = [randomAddress(), randomAddress(), randomAddress(), randomAddress()];

interface Holding {
  readonly amount?: bigint;
  readonly frozen?: boolean;
  readonly owner?: string;
}
function account({ amount = 0n, frozen = false, owner = wallet }: Holding) {
  const data = Buffer.alloc(TOKEN_ACCOUNT_BYTES);
  data.set(parseAddress(mint).toBytes(), 0);
  data.set(parseAddress(owner).toBytes(), 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(frozen ? 2 : 1, 108);
  return { owner: TOKEN_PROGRAM, data };
}

/**
 * Returns the name of the error of a batch of two payments (70 and 30 base units) whose first transfer failed; `do` when the batch does not fail.
 * @param failure the instruction that failed, and its error code
 */
async function diagnosisOf(source: Holding | null, destination: Holding | null = {}, opens = false, failure = {}): Promise<string> {
  const accounts = [source && account({ owner: treasury, ...source }), destination && account(destination)];
  // `diagnose` uses no other part of the application and of the batch.
  const app = { chain: { node: { accounts: async () => ({ slot: 1, accounts }) } } } as unknown as App;
  const members = [
    { wallet, amount: 70n, opens },
    { wallet: other, amount: 30n, opens: false },
  ];
  const batch = { mint, treasury, members } as unknown as Parameters<typeof diagnose>[1];
  const error = { name: 'Rejected', message: 'it failed', instruction: opens ? 2 : 1, code: 99, ...failure };
  const outcome = await diagnose(app, batch, error);
  return outcome.do === 'fail' ? outcome.error.name : outcome.do;
}

test('a failed batch names the treasury as the reason when its token account is missing, frozen, or has less than the sum of the payments', async () => {
  expect(await diagnosisOf(null)).toBe('TreasuryFrozen');
  expect(await diagnosisOf({ amount: 100n, frozen: true })).toBe('TreasuryFrozen');
  expect(await diagnosisOf({ amount: 99n })).toBe('TreasuryShort');
  expect(await diagnosisOf({ amount: 100n })).toBe('Rejected');
});

test('a failed batch names the wallet’s token account as the reason when it was closed, is frozen or has another owner', async () => {
  const funded = { amount: 100n };
  expect(await diagnosisOf(funded, null)).toBe('AccountGone');
  expect(await diagnosisOf(funded, null, true)).toBe('Rejected');
  const names = [await diagnosisOf(funded, { frozen: true }), await diagnosisOf(funded, { owner: other })];
  expect(names[0]).toBe(names[1]);
  expect(['Rejected', 'AccountGone']).not.toContain(names[0]);
});

test('a batch waits when the fee payer cannot pay for a token account, and when no instruction of a payment failed', async () => {
  const funded = { amount: 100n };
  expect(await diagnosisOf(funded, null, true, { instruction: 1, code: 1 })).toBe('wait');
  expect(await diagnosisOf(funded, null, true, { instruction: 1, code: 2 })).toBe('Rejected');
  expect(await diagnosisOf(funded, {}, true, { instruction: 2, code: 1 })).toBe('Rejected');
  expect(await diagnosisOf(funded, {}, false, { instruction: 0 })).toBe('wait');
  expect(await diagnosisOf(funded, {}, false, { instruction: 3 })).toBe('wait');
});
