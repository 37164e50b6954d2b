import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import type { App } from '#platform/app.ts';
import { pollPending, signAndSend } from '#platform/solana/submission/transactions.ts';
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
import { eventually } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { Killed, mortal } from '#test/support/solana/submission.ts';
import { transactionTypes } from '#workers/transaction-types.ts';

/** Only every so many operations are the last ones; with 1, all of them. */
const EVERY = Number(process.env.CHAOS_EVERY ?? 9);

let t: RewardsTest;
beforeAll(async () => {
  // The lead gives a machine that stands still some time.
  t = await startRoundsTest({ workers: false, env: { DRAW_LEAD_SEC: '8' } });
});
afterAll(() => t?.close());

const isOver = ({ state }: StoredRound) => state === 'finalized' || state === 'void';

/** Whether there is anything to do for a round: while the beacon is waited for, there is not. */
async function canGoOn(id: string): Promise<boolean> {
  return (await sql(t.app, `select 1 from rounds where id = $1 and (state <> 'committed' or beacon_due_at <= app_now())`, [id])).length > 0;
}

/** What the workers do for a round, once. */
async function turn(app: App, id: string): Promise<void> {
  await advanceRound(app, id);
  const due = await sql<{ id: string }>(
    t.app,
    `select id::text from chain_transactions where kind = 'draw-commitment' and subject = $1 and state = 'queued' and next_at <= app_now()`,
    [id],
  );
  for (const transaction of due) await signAndSend(app, transactionTypes, transaction.id);
  await pollPending(app, transactionTypes);
}

/** Works on a round until it is over or the process is killed. @returns how many operations it took */
async function workOn(id: string, at: number, when: 'before' | 'after'): Promise<number> {
  const victim = mortal(t.app, at, when);
  while (!isOver(await storedRound(t, id))) {
    if (await canGoOn(id)) {
      try {
        await turn(victim.app, id);
      } catch (error) {
        if (!(error instanceof Killed) && victim.operations < at) throw error;
      }
      if (victim.operations >= at) break;
    }
    await sleep(50);
  }
  return victim.operations;
}

/** Opens and closes a round. */
async function frozenRound(): Promise<string> {
  const id = await openRound(t, 3, {
    prizes: [
      { amount: '3', mint: 'reward' },
      { amount: '2', mint: 'reward' },
    ],
  });
  await t.app.tx((tx) => closeRound(tx, id));
  return id;
}

test('a round whose worker is killed at the freeze is frozen once, by whoever comes next', async () => {
  for (const [i, when] of (['before', 'after'] as const).entries()) {
    // Reading the round, the lock, the clock, the change, the commit.
    for (let at = 1 + i; at <= 8; at += 2) {
      const { id } = await startRound(t);
      await enter(t, 2);
      await eventually(async () => expect(await sql(t.app, 'select 1 from rounds where id = $1 and closes_at <= app_now()', [id])).toHaveLength(1));
      await advanceRound(mortal(t.app, at, when).app, id).catch(() => undefined);
      await advanceRound(t.app, id);
      await verified(t, id);
      expect((await eventsOf(t, id)).filter((type) => type === 'round_closed')).toHaveLength(1);
      expect(await storedRound(t, id)).toMatchObject({ state: 'closing', root: expect.any(String) });
    }
  }
}, 120_000);

test('whoever works on rounds may be killed at any operation: each ends once, and its winners are owed once', async () => {
  const operations = await workOn(await frozenRound(), Number.POSITIVE_INFINITY, 'before');
  expect(operations).toBeGreaterThan(30);
  const points = Array.from({ length: Math.ceil(operations / EVERY) }, (_, i) => 1 + i * EVERY).flatMap((at) => [
    { at, when: 'before' as const },
    { at: at + Math.floor(EVERY / 2), when: 'after' as const },
  ]);
  const rounds = new Map<string, (typeof points)[number]>();
  for (const point of points) rounds.set(await frozenRound(), point);
  await Promise.all([...rounds].map(([id, { at, when }]) => workOn(id, at, when)));

  const worker = await startWorker(t.env, t.clock);
  try {
    for (const first of rounds.keys()) await endsWell(first);
  } finally {
    await worker.close();
  }
  const recorded = await commitmentsOf(t);
  expect(recorded.map(({ sequence }) => sequence)).toEqual(recorded.map((_, i) => i + 1));
  expect(recorded.slice(1).map(({ previous }) => previous)).toEqual(recorded.slice(0, -1).map(({ hash }) => hash));
}, 240_000);

/** A round, or where the machine stood still for too long one that goes on for it, is drawn and paid. */
async function endsWell(first: string): Promise<void> {
  let id = first;
  await eventually(async () => {
    const { state, successor } = await storedRound(t, id);
    id = successor ?? id;
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
  await eventually(async () => expect(await balancesOf(t, wallets, 'reward')).toEqual([3n, 2n]), 60_000);
}
