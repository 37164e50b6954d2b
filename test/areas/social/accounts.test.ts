import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findLinked, type LinkedAccount, linkAccount } from '#areas/social';
import { HttpError } from '#lib/errors.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

type Link = Omit<LinkedAccount, 'linkedAt'>;
const someone = (given: Partial<Link> = {}): Link => ({
  ...{ platform: 'twitch', accountId: randomUUID(), handle: 'ada', wallet: createWallet().address },
  ...given,
});
/** @returns the refusal, or null */
async function link(account: Link): Promise<Pick<HttpError, 'status' | 'message'> | null> {
  try {
    await t.app.tx((tx) => linkAccount(tx, account));
    return null;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { status: error.status, message: error.message };
  }
}
const ELSEWHERE = { status: 409, message: 'this account is linked to another wallet' };
const ANOTHER = { status: 409, message: 'this wallet has another account of twitch linked' };

test('an account is found with the wallet that linked it, and since when', async () => {
  const account = someone();
  expect(await findLinked(t.app.db, account)).toBeUndefined();
  const before = t.clock.now().getTime();
  expect(await link(account)).toBeNull();
  const found = await findLinked(t.app.db, account);
  expect(found).toEqual({ ...account, linkedAt: expect.any(Number) });
  expect(
    Number.isInteger(found?.linkedAt) && (found?.linkedAt ?? 0) >= before - 1_000 && (found?.linkedAt ?? 0) <= t.clock.now().getTime() + 1_000,
  ).toBe(true);
  expect(await findLinked(t.app.db, { ...account, platform: 'discord' })).toBeUndefined();
});

test('again the same changes nothing but the handle', async () => {
  const account = someone();
  await link(account);
  const first = await findLinked(t.app.db, account);
  await t.app.tx((tx) =>
    tx.query({ text: `update linked_accounts set linked_at = linked_at - interval '1 day' where account_id = $1` }, [account.accountId]),
  );
  expect(await link({ ...account, handle: 'ada2' })).toBeNull();
  expect(await findLinked(t.app.db, account)).toEqual({ ...account, handle: 'ada2', linkedAt: (first?.linkedAt ?? 0) - 86_400_000 });
});

test('an account of another wallet is 409, and stays as it was', async () => {
  const account = someone();
  await link(account);
  expect(await link({ ...account, wallet: createWallet().address, handle: 'thief' })).toEqual(ELSEWHERE);
  expect(await findLinked(t.app.db, account)).toMatchObject({ wallet: account.wallet, handle: 'ada' });
});

test('a second account of one platform is 409, one of another platform is not', async () => {
  const account = someone();
  await link(account);
  expect(await link({ ...account, accountId: randomUUID() })).toEqual(ANOTHER);
  expect(await link({ ...account, platform: 'discord' })).toBeNull();
});

test('an account that is another wallet’s is told of first', async () => {
  const [mine, theirs] = [someone(), someone()];
  await Promise.all([link(mine), link(theirs)]);
  expect(await link({ ...theirs, wallet: mine.wallet })).toEqual(ELSEWHERE);
});

test('a refusal leaves the transaction usable', async () => {
  const account = someone();
  await link(account);
  const other = someone();
  await t.app.tx(async (tx) => {
    await expect(linkAccount(tx, { ...account, accountId: randomUUID() })).rejects.toMatchObject(ANOTHER);
    await linkAccount(tx, other);
  });
  expect(await findLinked(t.app.db, other)).toMatchObject({ wallet: other.wallet });
});

test('fifty at once have one effect: of one link, of wallets after one account, of accounts after one wallet', async () => {
  const account = someone();
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => link(account))))).toEqual(new Set([null]));

  const { accountId } = someone();
  const byWallets = await Promise.all(Array.from({ length: 50 }, () => link(someone({ accountId }))));
  expect(byWallets.filter((one) => one === null).length).toBe(1);
  expect(byWallets.filter((one) => one !== null)).toEqual(Array.from({ length: 49 }, () => ELSEWHERE));

  const wallet = createWallet().address;
  const byAccounts = await Promise.all(Array.from({ length: 50 }, () => link(someone({ wallet }))));
  expect(byAccounts.filter((one) => one === null).length).toBe(1);
  expect(byAccounts.filter((one) => one !== null)).toEqual(Array.from({ length: 49 }, () => ANOTHER));

  const rows = await sql<{ n: number }>(
    t.app,
    'select count(*)::int as n from linked_accounts where account_id = any($1::text[]) or wallet = any($2::text[])',
    [
      [account.accountId, accountId],
      [account.wallet, wallet],
    ],
  );
  expect(rows).toEqual([{ n: 3 }]);
});
