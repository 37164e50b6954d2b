import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signAndSend } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { attemptsOf, GUARDED_LAMPORTS, guardedLamports, guardedType, runWithFurther, wrongOutflows } from '#test/support/solana/guarded.ts';
import { killableApp, statesOf, submitPayments } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const landing = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4', LANDING_RAISE_SLOTS: '20' };
  t = await startTestApp({ workers: false, env: { ...chain.env, ...landing } });
  await chain.control.pause();
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const type = guardedType('killed');
const types = new Map([[type.name, type]]);
const idOf = async (subject: string) =>
  (await t.app.db.query<{ id: string }>({ text: 'select id::text from chain_transactions where subject = $1' }, [subject]))[0]?.id ?? '';
const makeDue = () => t.app.tx((tx) => tx.query({ text: `update chain_transactions set next_at = app_now() where state = 'live'` }));

/** Submits transactions whose first attempts do not land, and lets the slots pass after which further attempts are signed. */
async function submitUnlanded(subjects: readonly string[]): Promise<void> {
  await submitPayments(t.app, type, subjects);
  for (const subject of subjects) await signAndSend(t.app, types, await idOf(subject));
  await chain.control.advance(21);
  // The blockhash of further attempts is cached for one second.
  await sleep(1_000);
}

test('a transaction with several live attempts takes effect once when workers are killed at any operation', async () => {
  const dropped = await chain.control.fault({ kind: 'drop' });
  const counted = 'counted';
  await submitUnlanded([counted]);
  const unharmed = killableApp(t.app, Number.POSITIVE_INFINITY, 'before');
  await signAndSend(unharmed.app, types, await idOf(counted));
  expect(await attemptsOf(t.app, counted)).toHaveLength(2);
  const points = Array.from({ length: unharmed.operations }, (_, i) => i + 1).flatMap((at) => [
    { at, when: 'before' as const },
    { at, when: 'after' as const },
  ]);
  expect(points.length).toBeGreaterThan(20);
  const killed = new Map(points.map((point, i) => [`killed ${i}`, point]));
  await submitUnlanded([...killed.keys()]);
  for (const [subject, { at, when }] of killed)
    await signAndSend(killableApp(t.app, at, when).app, types, await idOf(subject)).catch(() => undefined);
  // Some of the killed workers had committed a further attempt.
  const subjects = [counted, ...killed.keys()];
  const counts = await Promise.all(subjects.map(async (subject) => (await attemptsOf(t.app, subject)).length));
  expect(new Set(counts)).toEqual(new Set([1, 2]));
  await dropped.clear();
  await chain.control.fault({ kind: 'late', slots: 12, probability: 0.4, seed: 3, methods: ['sendTransaction'] });
  await chain.control.fault({ kind: 'loseReply', probability: 0.2, seed: 4 });

  const end = performance.now() + PATIENCE * 150_000;
  const isOpen = async () => {
    const states = await statesOf(t.app, subjects);
    const { open } = (
      await t.app.db.query<{ open: number }>({
        text: `select count(*)::int as open from chain_attempts where state in ('signed', 'sent', 'confirmed')`,
      })
    )[0] ?? { open: 1 };
    return open > 0 || [...states.values()].some((state) => state !== 'finalized');
  };
  while (await isOpen()) {
    if (performance.now() > end) throw new Error(`still ${JSON.stringify([...(await statesOf(t.app, subjects))])}`);
    await makeDue();
    await runWithFurther(killableApp(t.app, randomInt(1, 60), 'after').app, types, subjects).catch(() => undefined);
    await runWithFurther(t.app, types, subjects).catch(() => undefined);
    await chain.control.advance(1);
    await sleep(10);
  }
  for (const subject of subjects) expect([subject, await guardedLamports(t.app, subject)]).toEqual([subject, GUARDED_LAMPORTS]);
  for (const subject of subjects) {
    const states = (await attemptsOf(t.app, subject)).map(({ state }) => state);
    expect([subject, states.filter((state) => state === 'finalized').length]).toEqual([subject, 1]);
  }
  expect(type.hookCalls.failed).toEqual([]);
  expect(await wrongOutflows(t.app)).toEqual([]);
}, 240_000);
