import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readEntries } from '#areas/lottery/entries.ts';
import { getRound } from '#areas/lottery/routes/rounds.ts';
import { sql } from '#test/support/areas/boards.ts';
import { closeNow, commitmentsOf, openRound, storedRound, verified } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t?.close());
afterEach(() => t.chain.control.clear());

/** Opens a round, enters it and closes it. */
async function frozenRound(entries = 3): Promise<string> {
  const id = await openRound(t, entries);
  await closeNow(t, id);
  return id;
}

test('no commitment is signed while the clock of the cluster and the wall clock differ by more than 10 s', async () => {
  const shift = (ms: number) => t.clock.set(new Date(Date.now() + ms));
  const id = await openRound(t, 2);
  await shift(-12_000);
  try {
    await closeNow(t, id);
    await retryUntilPass(async () => {
      const [row] = await sql<{ state: string; error: { message: string } }>(
        t.app,
        'select state, error from chain_transactions where subject = $1',
        [id],
      );
      expect(row).toMatchObject({ state: 'queued', error: { message: expect.stringContaining('differs from the wall clock by 1') } });
    }, 30_000);
    expect(await commitmentsOf(t)).toEqual([]);
  } finally {
    await shift(0);
  }
  await untilState(t, id, 'finalized', 60_000);
  await verified(t, id);
});

test('while the beacon is silent a round waits; it is overdue after drawWithinSec and is drawn when the beacon returns, a day later too', async () => {
  await t.chain.control.beacon({ stopped: true });
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  const { beaconRound } = await storedRound(t, id);
  const overdue = async () => (await clientOf(t).ok(getRound, { params: { id } })).body.overdue;
  expect(await overdue()).toBe(false);
  await sql(t.app, `update rounds set beacon_due_at = app_now() - interval '25 hours', look_at = app_now() where id = $1`, [id]);
  expect(await overdue()).toBe(true);
  await verified(t, id);
  await t.chain.control.beacon({ stopped: false });
  // Without the beacon the next look is up to a minute later.
  await sql(t.app, 'update rounds set look_at = app_now() where id = $1', [id]);
  await retryUntilPass(async () => {
    await sql(t.app, `update rounds set look_at = app_now() where id = $1 and state = 'committed'`, [id]);
    expect((await storedRound(t, id)).state).toBe('finalized');
  }, 30_000);
  expect(await storedRound(t, id)).toMatchObject({ beaconRound });
  await verified(t, id);
});

/** Changes a stored entry despite the trigger that forbids it. @returns a function that restores the entry */
async function tamper(id: string): Promise<() => Promise<void>> {
  const write = async (wallet: string) => {
    await sql(t.app, 'alter table entries disable trigger entries_kept');
    await sql(t.app, 'update entries set wallet = $2 where round = $1 and index = 1', [id, wallet]);
    await sql(t.app, 'alter table entries enable trigger entries_kept');
  };
  const entry = (await readEntries(t.app.db, id))[1];
  await write(createWallet().address);
  return () => write(entry?.wallet ?? '');
}

test('a round whose entries differ from the committed ones is not drawn until they are restored, however late', async () => {
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  const restore = await tamper(id);
  await sql(t.app, `update rounds set beacon_due_at = app_now() - interval '25 hours', look_at = app_now() where id = $1`, [id]);
  await retryUntilPass(async () => {
    const [row] = await sql<{ held: boolean }>(t.app, `select look_at > app_now() + interval '10 seconds' as held from rounds where id = $1`, [id]);
    expect(row?.held).toBe(true);
  }, 30_000);
  expect((await storedRound(t, id)).state).toBe('committed');
  await restore();
  await sql(t.app, 'update rounds set look_at = app_now() where id = $1', [id]);
  await untilState(t, id, 'finalized');
  await verified(t, id);
});

test('a closed round whose entries were changed is not committed until they are restored', async () => {
  const id = await openRound(t, 3);
  const restore = await tamper(id);
  await closeNow(t, id);
  await retryUntilPass(async () => {
    const [row] = await sql<{ held: boolean }>(t.app, `select look_at > app_now() + interval '10 seconds' as held from rounds where id = $1`, [id]);
    expect(row?.held).toBe(true);
  }, 30_000);
  expect(await storedRound(t, id)).toMatchObject({ state: 'closing', root: null });
  await restore();
  await sql(t.app, 'update rounds set look_at = app_now() where id = $1', [id]);
  await untilState(t, id, 'finalized');
  await verified(t, id);
});
