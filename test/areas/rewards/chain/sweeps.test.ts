import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { expireEpochs } from '#areas/rewards';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { epochSettle } from '#areas/rewards/chain/settle.ts';
import { sweepRents } from '#areas/rewards/chain/sweep-rents.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { insertComputedEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

// No workers run, so nothing is signed.
let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t?.close());

const newEpoch = (epoch: number) => insertComputedEpoch(t.app, epoch, [[createWallet().address, 5n]]);

test('a failed root is retried after ten minutes while its epoch waits for it, and not when the epoch is settled or being settled', async () => {
  for (const epoch of [1, 2, 3, 4]) await newEpoch(epoch);
  await t.app.tx((tx) => submit(tx, epochSettle, ['3']));
  await sql(t.app, `update epochs set settle_requested_at = app_now() where epoch = 2`);
  await sql(t.app, `update epochs set state = 'settled', settled_at = app_now() where epoch = 3`);
  await sql(t.app, `update chain_transactions set state = 'failed', changed_at = app_now() - interval '11 minutes'`);
  await sql(t.app, `update chain_transactions set changed_at = app_now() - interval '9 minutes' where kind = 'epoch-root' and subject = '4'`);
  await expireEpochs(t.app);
  expect(await sql(t.app, `select kind, subject from chain_transactions where state <> 'failed' order by kind`)).toEqual([
    { kind: epochRoot.name, subject: '1' },
    { kind: epochSettle.name, subject: '3' },
  ]);
});

test('the rents of closed epochs are collected once per UTC day, and only when an epoch was closed in the last week', async () => {
  const subjects = async () =>
    (await sql<{ subject: string }>(t.app, `select subject from chain_transactions where kind = 'rent-sweep'`)).flatMap(({ subject }) => subject);
  const setClosed = (closedAt: string) =>
    sql(
      t.app,
      `insert into epoch_accounts (epoch, program, authority, mint, address, vault, expires_at, opened_at, ended_at, closed_at)
       values (9, 'p', 'a', 'm', 'x', 'v', app_now(), app_now(), app_now(), app_now() - $1::interval)
       on conflict (epoch) do update set closed_at = excluded.closed_at`,
      [closedAt],
    );
  await newEpoch(9);
  await sweepRents(t.app);
  await setClosed('8 days');
  await sweepRents(t.app);
  expect(await subjects()).toEqual([]);
  await setClosed('6 days');
  // The job is repeated when the transaction cannot be stored.
  await expect(sweepRents({ ...t.app, tx: () => Promise.reject(new Error('killed')) })).rejects.toThrow('killed');
  expect(await subjects()).toEqual([]);
  await sweepRents(t.app);
  const day = String(Math.floor(t.app.clock.now().getTime() / 86_400_000));
  expect(await subjects()).toEqual([day]);
  await sweepRents(t.app);
  expect(await subjects()).toEqual([day]);
});
