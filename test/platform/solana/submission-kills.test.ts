import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Fault } from '#dev/localnet/control/orders.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import {
  ask,
  drive,
  Killed,
  mortal,
  newPayment,
  openNonce,
  paid,
  statesOf,
  type TestKind,
  type TestNonce,
  transfers,
  turn,
} from '#test/support/solana/submission.ts';

/** How many payments the random part makes; bin/soak asks for more. */
const PAYMENTS = 60 * Number(process.env.CHAOS_ROUNDS ?? 1);
const AT_ONCE = 8;

let chain: TestChain;
let running: TestApp;

beforeAll(async () => {
  chain = await startTestChain();
  const env = { ...chain.env, LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '40', LANDING_DEPTH_BLOCKS: '4', LANDING_GIVE_UP_MS: '600000' };
  running = await startTestApp({ workers: false, env });
}, 30_000);
afterAll(async () => {
  await running?.close();
  await chain?.close();
});
afterEach(() => chain.control.clear());

/** A worker that is killed at an operation of its own, while it deals with one payment. @returns whether it lived to see the end */
async function liveFor(kind: TestKind, subject: string, at: number, when: 'before' | 'after'): Promise<boolean> {
  const victim = mortal(running.app, at, when);
  const kinds = new Map([[kind.name, kind]]);
  for (let turns = 0; turns < 200; turns++) {
    try {
      await turn(victim.app, kinds, [subject]);
    } catch (error) {
      if (error instanceof Killed) return false;
    }
    // What it throws may have been caught on its way, by code that goes on as if a dependency were down.
    if (victim.operations >= at) return false;
    if ((await statesOf(running.app, [subject])).get(subject) === 'finalized') return true;
  }
  return false;
}

/** Does something for each item, a few at a time. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const next = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of next) await work(item);
    }),
  );
}

const nonces = new Map<string, TestNonce>();
const nonceOf = (subject: string): TestNonce => {
  const nonce = nonces.get(subject);
  if (!nonce) throw new Error('no nonce for this payment');
  return nonce;
};

describe.each(['a blockhash', 'a durable nonce'])('with %s', (lifetime) => {
  const kind = lifetime === 'a blockhash' ? transfers('killed') : transfers('killed-nonce', { nonce: nonceOf });
  const prepare = async (subject: string) => {
    if (lifetime !== 'a blockhash') nonces.set(subject, await openNonce(chain));
    await ask(running.app, kind, [subject]);
  };

  test('a worker killed at any operation pays once, by whoever follows', async () => {
    const counted = newPayment();
    await prepare(counted);
    const whole = mortal(running.app, Number.POSITIVE_INFINITY, 'before');
    const kinds = new Map([[kind.name, kind]]);
    await turn(whole.app, kinds, [counted]);
    await turn(whole.app, kinds, [counted]);
    const points = Array.from({ length: whole.operations }, (_, i) => i + 1).flatMap((at) => [
      { at, when: 'before' as const },
      { at, when: 'after' as const },
    ]);
    expect(points.length).toBeGreaterThan(30);
    const subjects = new Map(points.map((point) => [newPayment(), point]));
    await forEach([...subjects], async ([subject, { at, when }]) => {
      await prepare(subject);
      await liveFor(kind, subject, at, when);
    });
    await drive(running.app, kind, [counted, ...subjects.keys()], ['finalized'], 30_000);
    for (const subject of [counted, ...subjects.keys()]) expect(await paid(running.app, subject)).toBe(2_000_000);
    expect(new Set(kind.books.finalized.map((landing) => landing.subject)).size).toBe(kind.books.finalized.length);
  }, 60_000);

  test('workers killed again and again, with a network that does its worst, pay once', async () => {
    const seed = randomInt(1_000_000);
    const subjects = Array.from({ length: PAYMENTS }, () => newPayment());
    for (const subject of subjects) await prepare(subject);
    const often = (fault: Fault, i: number) => chain.control.fault({ ...fault, probability: 0.1, seed: seed + i });
    const sending = { methods: ['sendTransaction'] };
    await Promise.all([
      often({ kind: 'drop', ...sending }, 1),
      often({ kind: 'loseReply', ...sending }, 2),
      often({ kind: 'late', slots: 12, ...sending }, 3),
      often({ kind: 'fork', slots: 4, ...sending }, 4),
      often({ kind: 'fail', status: 503 }, 5),
      often({ kind: 'cut' }, 6),
      often({ kind: 'rateLimit', retryAfter: 0 }, 7),
    ]);
    await forEach(subjects, async (subject) => {
      for (let lives = 0; lives < 3; lives++) {
        if (await liveFor(kind, subject, randomInt(1, 25), randomInt(2) === 0 ? 'before' : 'after')) return;
      }
    });
    await chain.control.clear();
    await drive(running.app, kind, subjects, ['finalized'], 60_000).catch((error) => {
      throw new Error(`seed ${seed}: ${error}`);
    });
    for (const subject of subjects) expect([seed, await paid(running.app, subject)]).toEqual([seed, 2_000_000]);
  }, 120_000);
});
