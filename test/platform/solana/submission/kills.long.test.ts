import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import {
  Killed,
  killableApp,
  newPayment,
  openNonce,
  receivedLamports,
  runOnce,
  runUntil,
  statesOf,
  submitPayments,
  type TestNonce,
  type TestTransactionType,
  transferType,
} from '#test/support/solana/submission.ts';

/** Payments of the random test. bin/soak sets CHAOS_ROUNDS to run more. */
const PAYMENTS = 60 * Number(process.env.CHAOS_ROUNDS ?? 1);
const MAX_CONCURRENT = 8;

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

/** Runs a worker for one payment, and kills it at its operation `at`. @returns whether the payment was finalized before */
async function runWorker(type: TestTransactionType, subject: string, at: number, when: 'before' | 'after'): Promise<boolean> {
  const worker = killableApp(running.app, at, when);
  const types = new Map([[type.name, type]]);
  for (let turns = 0; turns < 200; turns++) {
    try {
      await runOnce(worker.app, types, [subject]);
    } catch (error) {
      if (error instanceof Killed) return false;
    }
    // The code under test may have caught `Killed` as the error of a dependency, so the operations are checked too.
    if (worker.operations >= at) return false;
    if ((await statesOf(running.app, [subject])).get(subject) === 'finalized') return true;
  }
  return false;
}

/** Runs `work` for each item, with limited concurrency. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const next = items.values();
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT }, async () => {
      for (const item of next) await work(item);
    }),
  );
}

const nonces = new Map<string, TestNonce>();
const nonceOf = (subject: string): TestNonce => {
  const nonce = nonces.get(subject);
  if (!nonce) throw new Error('the payment has no nonce');
  return nonce;
};

describe.each(['a blockhash', 'a durable nonce'])('with %s', (lifetime) => {
  const type = lifetime === 'a blockhash' ? transferType('killed') : transferType('killed-nonce', { nonce: nonceOf });
  const prepare = async (subject: string) => {
    if (lifetime !== 'a blockhash') nonces.set(subject, await openNonce(chain));
    await submitPayments(running.app, type, [subject]);
  };

  test('a payment is made once when the worker is killed at any operation', async () => {
    const counted = newPayment();
    await prepare(counted);
    const unharmed = killableApp(running.app, Number.POSITIVE_INFINITY, 'before');
    const types = new Map([[type.name, type]]);
    await runOnce(unharmed.app, types, [counted]);
    await runOnce(unharmed.app, types, [counted]);
    const points = Array.from({ length: unharmed.operations }, (_, i) => i + 1).flatMap((at) => [
      { at, when: 'before' as const },
      { at, when: 'after' as const },
    ]);
    expect(points.length).toBeGreaterThan(30);
    const subjects = new Map(points.map((point) => [newPayment(), point]));
    await forEach([...subjects], async ([subject, { at, when }]) => {
      await prepare(subject);
      await runWorker(type, subject, at, when);
    });
    await runUntil(running.app, type, [counted, ...subjects.keys()], ['finalized'], 30_000);
    for (const subject of [counted, ...subjects.keys()]) expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
    expect(new Set(type.hookCalls.finalized.map(({ subject }) => subject)).size).toBe(type.hookCalls.finalized.length);
  }, 60_000);

  test('payments are made once when workers are killed repeatedly and the RPC node fails at random', async () => {
    const seed = randomInt(1_000_000);
    const subjects = Array.from({ length: PAYMENTS }, () => newPayment());
    for (const subject of subjects) await prepare(subject);
    const injectFault = (fault: FaultRule, i: number) => chain.control.fault({ ...fault, probability: 0.1, seed: seed + i });
    const sending = { methods: ['sendTransaction'] };
    await Promise.all([
      injectFault({ kind: 'drop', ...sending }, 1),
      injectFault({ kind: 'loseReply', ...sending }, 2),
      injectFault({ kind: 'late', slots: 12, ...sending }, 3),
      injectFault({ kind: 'fork', slots: 4, ...sending }, 4),
      injectFault({ kind: 'fail', status: 503 }, 5),
      injectFault({ kind: 'cut' }, 6),
      injectFault({ kind: 'rateLimit', retryAfter: 0 }, 7),
    ]);
    await forEach(subjects, async (subject) => {
      for (let lives = 0; lives < 3; lives++) {
        if (await runWorker(type, subject, randomInt(1, 25), randomInt(2) === 0 ? 'before' : 'after')) return;
      }
    });
    await chain.control.clear();
    await runUntil(running.app, type, subjects, ['finalized'], 60_000).catch((error) => {
      throw new Error(`seed ${seed}: ${error}`);
    });
    for (const subject of subjects) expect([seed, await receivedLamports(running.app, subject)]).toEqual([seed, 2_000_000]);
  }, 120_000);
});
