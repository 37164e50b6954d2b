import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findLinkedAccount, type LinkedAccount, linkAccount } from '#areas/social';
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
/** Links an account. @returns the error, or null */
async function link(account: Link): Promise<Pick<HttpError, 'status' | 'message'> | null> {
  try {
    await t.app.tx((tx) => linkAccount(tx, account));
    return null;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { status: error.status, message: error.message };
  }
}
const ELSEWHERE = { status: 409, message: 'the account is linked to another wallet' };
const ANOTHER = { status: 409, message: 'the wallet has linked another account of twitch; unlink it first' };

test('a linked account is found with its wallet and the time of the link', async () => {
  const account = someone();
  expect(await findLinkedAccount(t.app.db, account)).toBeUndefined();
  const before = t.clock.now().getTime();
  expect(await link(account)).toBeNull();
  const found = await findLinkedAccount(t.app.db, account);
  expect(found).toEqual({ ...account, linkedAt: expect.any(Number) });
  expect(
    Number.isInteger(found?.linkedAt) && (found?.linkedAt ?? 0) >= before - 1_000 && (found?.linkedAt ?? 0) <= t.clock.now().getTime() + 1_000,
  ).toBe(true);
  expect(await findLinkedAccount(t.app.db, { ...account, platform: 'discord' })).toBeUndefined();
});

test('linking the same account again changes only the handle', async () => {
  const account = someone();
  await link(account);
  const first = await findLinkedAccount(t.app.db, account);
  await t.app.tx((tx) =>
    tx.query({ text: `update linked_accounts set linked_at = linked_at - interval '1 day' where account_id = $1` }, [account.accountId]),
  );
  expect(await link({ ...account, handle: 'ada2' })).toBeNull();
  expect(await findLinkedAccount(t.app.db, account)).toEqual({ ...account, handle: 'ada2', linkedAt: (first?.linkedAt ?? 0) - 86_400_000 });
});

test('linking an account of another wallet gives 409 and changes nothing', async () => {
  const account = someone();
  await link(account);
  expect(await link({ ...account, wallet: createWallet().address, handle: 'thief' })).toEqual(ELSEWHERE);
  expect(await findLinkedAccount(t.app.db, account)).toMatchObject({ wallet: account.wallet, handle: 'ada' });
});

test('a second account of the same platform gives 409, an account of another platform is linked', async () => {
  const account = someone();
  await link(account);
  expect(await link({ ...account, accountId: randomUUID() })).toEqual(ANOTHER);
  expect(await link({ ...account, platform: 'discord' })).toBeNull();
});

test('when both conflicts apply, the error is about the account of another wallet', async () => {
  const [mine, theirs] = [someone(), someone()];
  await Promise.all([link(mine), link(theirs)]);
  expect(await link({ ...theirs, wallet: mine.wallet })).toEqual(ELSEWHERE);
});

test('a refused link leaves the transaction usable', async () => {
  const account = someone();
  await link(account);
  const other = someone();
  await t.app.tx(async (tx) => {
    await expect(linkAccount(tx, { ...account, accountId: randomUUID() })).rejects.toMatchObject(ANOTHER);
    await linkAccount(tx, other);
  });
  expect(await findLinkedAccount(t.app.db, other)).toMatchObject({ wallet: other.wallet });
});

test('of fifty concurrent conflicting links, exactly one succeeds', async () => {
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
