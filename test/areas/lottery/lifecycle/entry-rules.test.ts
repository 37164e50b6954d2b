import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { refusedWallets } from '#areas/lottery/entry-rules.ts';
import { ensurePlayer } from '#areas/points';
import type { EntryRules } from '#lib/draw/parameters.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const OPENS_AT = '2034-06-15T12:00:00.000Z';
const NO_RULES: EntryRules = { minTokenBalance: null, minAcceptedScores: null, linkedAccount: null, signedInBefore: null };
const mint = createWallet().address;

/** Returns the refusal of a wallet by rules; null when the wallet may enter. */
async function refusalOf(wallet: string, rules: Partial<EntryRules>, balance: { mint: string; amount: bigint } | null = null) {
  const refused = await refusedWallets(t.app.db, { ...NO_RULES, ...rules }, OPENS_AT, new Map([[wallet, balance]]));
  return refused.get(wallet) ?? null;
}

test('a wallet with at least the required token balance may enter, and a wallet with less is refused with 403', async () => {
  const wallet = createWallet().address;
  const minTokenBalance = { mint, amount: '500' };
  expect(await refusalOf(wallet, { minTokenBalance }, { mint, amount: 500n })).toBeNull();
  expect(await refusalOf(wallet, { minTokenBalance }, { mint, amount: 499n })).toEqual({
    status: 403,
    error: `minTokenBalance: the wallet must hold at least 500 base units of ${mint}`,
  });
  expect(await refusalOf(wallet, {})).toBeNull();
});

test('a wallet whose balance of the required token is not known is refused with 503', async () => {
  const wallet = createWallet().address;
  const unknown = { status: 503, error: 'the token balance of the wallet cannot be read at the moment, try again' };
  const minTokenBalance = { mint, amount: '500' };
  expect(await refusalOf(wallet, { minTokenBalance })).toEqual(unknown);
  expect(await refusalOf(wallet, { minTokenBalance }, { mint: createWallet().address, amount: 500n })).toEqual(unknown);
});

test('a wallet may enter only if it signed in before the required time', async () => {
  const [wallet, stranger] = [createWallet().address, createWallet().address];
  await t.app.tx((tx) => ensurePlayer(tx, wallet));
  await sql(t.app, `update players set created_at = '2034-01-01T00:00:00.000Z' where wallet = $1`, [wallet]);
  const [before, after] = ['2034-01-01T00:00:00.000Z', '2034-01-01T00:00:00.001Z'];
  expect(await refusalOf(wallet, { signedInBefore: after })).toBeNull();
  expect(await refusalOf(wallet, { signedInBefore: before })).toEqual({
    status: 403,
    error: `signedInBefore: the wallet must have signed in before ${before}`,
  });
  expect(await refusalOf(stranger, { signedInBefore: after })).toMatchObject({ status: 403 });
});

test('a wallet may enter only if it linked an account of the required network before the round opened', async () => {
  const linkedAt = async (at: string | null, platform = 'x') => {
    const wallet = createWallet().address;
    await t.app.tx((tx) => ensurePlayer(tx, wallet));
    if (at !== null) {
      const columns = 'wallet, platform, account_id, handle, linked_at';
      await sql(t.app, `insert into linked_accounts (${columns}) values ($1, $2, $3, 'a', $4)`, [wallet, platform, wallet, at]);
    }
    return (await refusalOf(wallet, { linkedAccount: 'x' }))?.status ?? null;
  };
  expect(await linkedAt('2034-06-15T11:59:59.999Z')).toBeNull();
  expect(await linkedAt(OPENS_AT)).toBe(403);
  expect(await linkedAt('2034-06-15T11:59:59.999Z', 'another-network')).toBe(403);
  expect(await linkedAt(null)).toBe(403);
});
