import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Fault } from '#dev/localnet/control/orders.ts';
import { statement } from '#platform/db/sql.ts';
import { pause, resume } from '#platform/solana/submission/transactions.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { ask, drive, newPayment, paid, statesOf, transfers, turn } from '#test/support/solana/submission.ts';

let chain: TestChain;
let running: TestApp;

beforeAll(async () => {
  chain = await startTestChain();
  const env = {
    ...chain.env,
    LANDING_POLL_MS: '20',
    LANDING_RECHECK_MS: '60',
    LANDING_DEPTH_BLOCKS: '4',
    LANDING_MANUAL_AFTER_MS: '2000',
    DAILY_SOL_LIMIT: '5000000000',
  };
  running = await startTestApp({ workers: false, env });
}, 30_000);
afterAll(async () => {
  await running?.close();
  await chain?.close();
});
afterEach(() => chain.control.clear());

const attempts = statement<{ n: number; state: string; spends: unknown }>(
  'test_attempts',
  `select a.n, a.state, a.spends from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n`,
);
const attemptsOf = async (subject: string) => (await running.app.db.query(attempts, [subject])).map(({ state }) => state);
const reserved = statement<{ reserved: string }>(
  'test_reserved',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);
const reservedSol = async () => BigInt((await running.app.db.query(reserved))[0]?.reserved ?? '0');

test('a transaction lands once, is shown when confirmed, and closes its books when final', async () => {
  const kind = transfers('plain');
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  await ask(running.app, kind, [subject]);
  await drive(running.app, kind, [subject]);
  expect(await paid(running.app, subject)).toBe(2_000_000);
  expect(kind.books.finalized).toEqual([{ subject, signature: expect.any(String), slot: expect.any(Number) }]);
  expect(kind.books.confirmed.length).toBeLessThanOrEqual(1);
  expect(await attemptsOf(subject)).toEqual(['finalized']);
});

test('several workers at once sign one attempt', async () => {
  const kind = transfers('crowd');
  const subjects = Array.from({ length: 10 }, () => newPayment());
  await ask(running.app, kind, subjects);
  const kinds = new Map([[kind.name, kind]]);
  await Promise.all(Array.from({ length: 4 }, () => turn(running.app, kinds, subjects)));
  await drive(running.app, kind, subjects);
  for (const subject of subjects) {
    expect(await paid(running.app, subject)).toBe(2_000_000);
    // On a machine that stands still a blockhash dies before it is sent: then there is a second one, after the first.
    expect((await attemptsOf(subject)).filter((state) => state !== 'dead')).toEqual(['finalized']);
  }
});

/** What may happen to a sent transaction, and to the questions about it. */
const FAULTS: Record<string, Fault> = {
  'is dropped once': { kind: 'drop', times: 1 },
  'is dropped five times': { kind: 'drop', times: 5 },
  'lands while the reply is lost': { kind: 'loseReply', times: 1 },
  'lands while a 500 is answered': { kind: 'loseReply', times: 1, status: 500 },
  'lands late': { kind: 'late', slots: 20, times: 1 },
  'lands in the last block that takes it': { kind: 'late', slots: 0, last: true, times: 1 },
  'lands in a minority’s block': { kind: 'fork', slots: 3, times: 1 },
  'meets a node that limits it': { kind: 'rateLimit', probability: 0.3, seed: 1, times: 12, retryAfter: 0 },
  'meets a node that fails': { kind: 'fail', status: 502, probability: 0.3, seed: 2, times: 12 },
  'meets a node that hangs up': { kind: 'cut', probability: 0.3, seed: 3, times: 12 },
  'meets a slow node': { kind: 'delay', ms: 80, times: 10 },
};

test.each(Object.entries(FAULTS))('a transaction that %s pays once', async (name, fault) => {
  const kind = transfers(`fault ${name}`);
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  await chain.control.fault({ ...fault, ...(['drop', 'loseReply', 'late', 'fork'].includes(fault.kind) ? { methods: ['sendTransaction'] } : {}) });
  await drive(running.app, kind, [subject], ['finalized'], 12_000);
  await chain.control.clear();
  expect(await paid(running.app, subject)).toBe(2_000_000);
  expect(kind.books.finalized.length).toBe(1);
});

test('one that never lands dies when its blockhash is long expired, and is signed anew', async () => {
  const kind = transfers('expired');
  const subject = newPayment();
  const before = await reservedSol();
  await ask(running.app, kind, [subject]);
  const drop = await chain.control.fault({ kind: 'drop' });
  const kinds = new Map([[kind.name, kind]]);
  while ((await attemptsOf(subject)).length < 2) await turn(running.app, kinds, [subject]);
  await drop.clear();
  await drive(running.app, kind, [subject], ['finalized']);
  const states = await attemptsOf(subject);
  expect(states.slice(0, -1).every((state) => state === 'dead')).toBe(true);
  expect(states.at(-1)).toBe('finalized');
  expect(await paid(running.app, subject)).toBe(2_000_000);
  // What the dead attempt had reserved is free again.
  expect(Number((await reservedSol()) - before)).toBeLessThan(2_100_000);
});

test('a node that lags proves nothing', async () => {
  const kind = transfers('lagging');
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  const kinds = new Map([[kind.name, kind]]);
  await chain.control.lag(400);
  while ((await attemptsOf(subject)).length === 0) await turn(running.app, kinds, [subject]).catch(() => undefined);
  await chain.control.advance(400);
  for (let i = 0; i < 20; i++) await turn(running.app, kinds, [subject]).catch(() => undefined);
  expect(await attemptsOf(subject)).not.toContain('dead');
  await chain.control.clear();
  await drive(running.app, kind, [subject], ['finalized']);
  expect(await paid(running.app, subject)).toBe(2_000_000);
});

test('where the history does not reach back, a person decides; and what turns up after all is booked', async () => {
  const kind = transfers('purged');
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  const late = await chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'] });
  const kinds = new Map([[kind.name, kind]]);
  while ((await attemptsOf(subject)).length === 0) await turn(running.app, kinds, [subject]);
  await chain.control.advance(200);
  await chain.control.purge();
  await drive(running.app, kind, [subject], ['manual', 'finalized'], 10_000);
  expect(await attemptsOf(subject)).toHaveLength(1);
  await late.clear();
  await chain.control.clear();
  await drive(running.app, kind, [subject], ['finalized']);
  expect(await paid(running.app, subject)).toBe(2_000_000);
});

test('a second provider that knows better keeps an attempt alive', async () => {
  const kind = transfers('second opinion');
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  const kinds = new Map([[kind.name, kind]]);
  // The first node neither takes the transaction nor learns of it; the second one is behind.
  await chain.control.lag(400, 'second');
  const drop = await chain.control.fault({ kind: 'drop', node: 'first' });
  while ((await attemptsOf(subject)).length === 0) await turn(running.app, kinds, [subject]);
  await chain.control.advance(200);
  for (let i = 0; i < 30; i++) await turn(running.app, kinds, [subject]);
  expect(await attemptsOf(subject)).not.toContain('dead');
  await drop.clear();
  await chain.control.clear();
  await drive(running.app, kind, [subject], ['finalized']);
  expect(await paid(running.app, subject)).toBe(2_000_000);
});

test('what the simulation refuses is tried a few times, signs nothing, and is over', async () => {
  const kind = transfers('refused');
  const subject = newPayment(4_000_000_000_000_000);
  await ask(running.app, kind, [subject]);
  await running.app.tx((tx) => tx.query(statement('test_tries', `update chain_transactions set tries = 11 where subject = $1`), [subject]));
  await drive(running.app, kind, [subject], ['failed']);
  expect(await attemptsOf(subject)).toEqual([]);
  expect(kind.books.failed).toEqual([{ subject, signature: null, error: expect.objectContaining({ instruction: 0, code: 1 }) }]);
});

test('the circuit breaker holds what would pass the day’s limit, and lets it go with the next day', async () => {
  const kind = transfers('breaker');
  const [first, second] = [newPayment(2_500_000_000), newPayment(2_500_000_000)];
  await chain.fundWallet({ lamports: 10_000_000_000 }, chain.keys.feePayer);
  await ask(running.app, kind, [first, second]);
  const kinds = new Map([[kind.name, kind]]);
  await drive(running.app, kind, [first], ['finalized', 'queued']);
  for (let i = 0; i < 20; i++) await turn(running.app, kinds, [first, second]);
  const states = await statesOf(running.app, [first, second]);
  expect([...states.values()].sort()).toEqual(['finalized', 'queued']);
  await running.clock.set(new Date(running.clock.now().getTime() + 86_400_000));
  await drive(running.app, kind, [first, second], ['finalized']);
  expect([await paid(running.app, first), await paid(running.app, second)]).toEqual([2_500_000_000, 2_500_000_000]);
});

test('a paused scope signs nothing until it is resumed', async () => {
  const kind = transfers('paused');
  const subject = newPayment();
  await running.app.tx((tx) => pause(tx, kind.scope, 'a test says so'));
  await ask(running.app, kind, [subject]);
  const kinds = new Map([[kind.name, kind]]);
  for (let i = 0; i < 5; i++) await turn(running.app, kinds, [subject]);
  expect(await attemptsOf(subject)).toEqual([]);
  expect(await running.app.tx((tx) => resume(tx, kind.scope))).toBe(true);
  await running.clock.set(new Date(running.clock.now().getTime() + 60_000));
  await drive(running.app, kind, [subject], ['finalized']);
  expect(await paid(running.app, subject)).toBe(2_000_000);
});
