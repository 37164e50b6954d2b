import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import type { App } from '#platform/app.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/index.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  commitmentsOf,
  enter,
  eventsOf,
  openRound,
  prizesOf,
  type StoredRound,
  startRound,
  storedRound,
  verified,
} from '#test/support/areas/draws.ts';
import { balancesOf } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { Killed, killableApp } from '#test/support/solana/submission.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Distance between the operations at which a worker is killed; 1 kills at each operation. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 9);

let t: RewardsTest;
beforeAll(async () => {
  // A long lead tolerates pauses of a busy machine.
  t = await startRoundsTest({ workers: false, env: { DRAW_LEAD_SEC: '8' } });
});
afterAll(() => t?.close());

const isOver = ({ state }: StoredRound) => state === 'finalized' || state === 'void';

/** Returns whether a round can advance now. It cannot while it waits for the beacon. */
async function canAdvance(id: string): Promise<boolean> {
  return (await sql(t.app, `select 1 from rounds where id = $1 and (state <> 'committed' or beacon_due_at <= app_now())`, [id])).length > 0;
}

/** Runs once all jobs that workers would run for a round. */
async function runJobsOnce(app: App, id: string): Promise<void> {
  await advanceRound(app, id);
  const due = await sql<{ id: string }>(
    t.app,
    `select id::text from chain_transactions where kind = 'draw-commitment' and subject = $1 and state = 'queued' and next_at <= app_now()`,
    [id],
  );
  for (const transaction of due) await signAndSend(app, transactionTypes, transaction.id);
  await pollPending(app, transactionTypes);
}

/** Advances a round until it has ended or the worker is killed. @returns the number of operations */
async function advanceUntilKilled(id: string, at: number, when: 'before' | 'after'): Promise<number> {
  const victim = killableApp(t.app, at, when);
  while (!isOver(await storedRound(t, id))) {
    if (await canAdvance(id)) {
      try {
        await runJobsOnce(victim.app, id);
      } catch (error) {
        if (!(error instanceof Killed) && victim.operations < at) throw error;
      }
      if (victim.operations >= at) break;
    }
    await sleep(50);
  }
  return victim.operations;
}

/** Opens a round, enters it and closes it. */
async function frozenRound(): Promise<string> {
  const id = await openRound(t, 3, {
    prizes: [
      { amount: '3', mint: 'reward' },
      { amount: '2', mint: 'reward' },
    ],
  });
  await t.app.tx((tx) => closeRound(t.app, tx, id));
  return id;
}

test('a round whose worker is killed during the freeze is frozen exactly once by the next worker', async () => {
  for (const [i, when] of (['before', 'after'] as const).entries()) {
    // The operations are: read the round, lock, read the clock, update, commit.
    for (let at = 1 + i; at <= 8; at += 2) {
      const { id } = await startRound(t);
      await enter(t, 2);
      await retryUntilPass(async () =>
        expect(await sql(t.app, 'select 1 from rounds where id = $1 and closes_at <= app_now()', [id])).toHaveLength(1),
      );
      await advanceRound(killableApp(t.app, at, when).app, id).catch(() => undefined);
      await advanceRound(t.app, id);
      await verified(t, id);
      expect((await eventsOf(t, id)).filter((type) => type === 'round_closed')).toHaveLength(1);
      expect(await storedRound(t, id)).toMatchObject({ state: 'closing', root: expect.any(String) });
    }
  }
}, 120_000);

test('when workers are killed at any operation, each round still ends once and its winners are paid once', async () => {
  const operations = await advanceUntilKilled(await frozenRound(), Number.POSITIVE_INFINITY, 'before');
  expect(operations).toBeGreaterThan(30);
  const points = Array.from({ length: Math.ceil(operations / EVERY) }, (_, i) => 1 + i * EVERY).flatMap((at) => [
    { at, when: 'before' as const },
    { at: at + Math.floor(EVERY / 2), when: 'after' as const },
  ]);
  const rounds = new Map<string, (typeof points)[number]>();
  for (const point of points) rounds.set(await frozenRound(), point);
  await Promise.all([...rounds].map(([id, { at, when }]) => advanceUntilKilled(id, at, when)));

  const worker = await startWorker(t.env, t.clock);
  try {
    for (const id of rounds.keys()) await expectDrawnAndPaid(id);
  } finally {
    await worker.close();
  }
  expect((await commitmentsOf(t)).map(({ round }) => round)).toEqual(expect.arrayContaining([...rounds.keys()]));
}, 240_000);

/** Asserts that a round is drawn and paid. */
async function expectDrawnAndPaid(id: string): Promise<void> {
  await retryUntilPass(async () => {
    const { state } = await storedRound(t, id);
    if (state !== 'finalized') throw new Error(`round ${id} is ${state}`);
  }, 120_000);
  const winners = (await verified(t, id)).winners ?? [];
  expect(winners).toHaveLength(2);
  const owed = winners.map(({ place, wallet, prize }) => ({ place, wallet, amount: prize.amount, currency: 'reward' }));
  expect(await prizesOf(t, id)).toMatchObject(owed);
  expect(await sql(t.app, 'select place, wallet, amount::text, mint as currency from round_winners where round = $1 order by place', [id])).toEqual(
    owed,
  );
  const events = await eventsOf(t, id);
  for (const type of ['round_closed', 'round_committed', 'round_finalized']) expect(events.filter((one) => one === type)).toHaveLength(1);
  expect(events.filter((one) => one === 'winner_announced')).toHaveLength(2);
  const wallets = winners.map(({ wallet }) => wallet);
  await retryUntilPass(async () => expect(await balancesOf(t, wallets, 'reward')).toEqual([3n, 2n]), 60_000);
}
