import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fail } from '#lib/errors.ts';
import { type App, AppStates } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { signAndSend, type TransactionType } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { asOwner } from '#test/support/database.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, runUntil, submitPayments, transferType } from '#test/support/solana/submission.ts';

const LIMIT = 1_000_000_000n;
const COUNT = 12;

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const env = {
    LANDING_POLL_MS: '20',
    LANDING_RECHECK_MS: '60',
    LANDING_DEPTH_BLOCKS: '4',
    DAILY_SOL_LIMIT: String(LIMIT),
    DAILY_LIMIT_RESERVES: '',
  };
  t = await startTestApp({ workers: false, env: { ...chain.env, ...env } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const selectRows = statement<{
  id: string;
  subject: string;
  state: string;
  error: { name: string } | null;
  attempts: number;
  sent: number;
  reserved: string;
}>(
  'test_batch_rows',
  `select t.id::text, t.subject, t.state, t.error, count(a.n)::int as attempts, count(a.sent_slot)::int as sent, coalesce(sum((a.spends->0->>'amount')::numeric), 0)::text as reserved
   from chain_transactions t left join chain_attempts a on a.transaction_id = t.id where t.kind = $1 group by t.id order by t.id`,
);
const selectReserved = statement<{ reserved: string }>(
  'test_batch_reserved',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);
const setReserved = statement(
  'test_batch_spend',
  `insert into chain_outflows (day, asset, priority, reserved) values (app_day(), 'sol', 'payouts', $1::numeric)
   on conflict (day, asset, priority) do update set reserved = excluded.reserved`,
);
const forget = statement('test_batch_forget', 'delete from chain_outflows');
const reserved = async () => BigInt((await t.app.db.query(selectReserved))[0]?.reserved ?? '0');
const rowsOf = (type: TransactionType) => t.app.db.query(selectRows, [type.name]);

/** Creates a type whose transactions are signed in batches, and submits `COUNT` of them. The sizes of the batches are collected in `batches`. */
async function submitMany(name: string, signed: (subjects: readonly string[]) => void = () => undefined) {
  await asOwner(t.app, (tx) => tx.query(forget));
  const batches: number[] = [];
  const type = Object.assign(transferType(name, { priority: 'claims' }), {
    async signed(_tx, attempts) {
      batches.push(attempts.length);
      signed(attempts.map(({ subject }) => subject));
    },
  } satisfies Pick<TransactionType, 'signed'>);
  const subjects = Array.from({ length: COUNT }, () => newPayment());
  await submitPayments(t.app, type, subjects);
  return { type, types: new Map([[type.name, type]]), subjects, batches };
}
const signAll = async (app: App, { type, types }: Awaited<ReturnType<typeof submitMany>>) =>
  await Promise.all((await rowsOf(type)).map(({ id }) => signAndSend(app, types, id)));

test('claims that are signed at the same time are committed together, and each has one attempt, which is sent and lands', async () => {
  const many = await submitMany('together');
  // Each is signed by two jobs.
  await Promise.all([signAll(t.app, many), signAll(t.app, many)]);
  expect(Math.max(...many.batches)).toBeGreaterThan(1);
  const rows = await rowsOf(many.type);
  expect(rows.map(({ state, attempts, sent }) => [state, attempts, sent])).toEqual(rows.map(() => ['live', 1, 1]));
  expect(await reserved()).toBe(rows.reduce((sum, row) => sum + BigInt(row.reserved), 0n));
  await runUntil(t.app, many.type, many.subjects, ['finalized']);
  expect(many.type.hookCalls.finalized.map(({ subject }) => subject).sort()).toEqual([...many.subjects].sort());
});

test('a claim that its hook refuses is postponed, and the others of its batch are committed', async () => {
  let refused = '';
  const many = await submitMany('refused', (subjects) => {
    if (subjects.includes(refused)) throw fail(409, 'not this one');
  });
  refused = many.subjects[5] ?? '';
  await signAll(t.app, many);
  const rows = await rowsOf(many.type);
  expect(rows.filter(({ state }) => state !== 'live').map(({ subject, state, error, attempts }) => [subject, state, error?.name, attempts])).toEqual([
    [refused, 'queued', 'Unavailable', 0],
  ]);
  expect(await reserved()).toBe(rows.reduce((sum, row) => sum + BigInt(row.reserved), 0n));
});

test('when the rest of the daily limit covers some claims of a batch, these are committed and the others wait', async () => {
  const many = await submitMany('limit');
  // Each claim spends 2,000,000 lamports and its fee.
  await asOwner(t.app, (tx) => tx.query(setReserved, [String(LIMIT - 7_100_000n)]));
  await signAll(t.app, many);
  const rows = await rowsOf(many.type);
  expect(rows.map(({ state }) => state).sort()).toEqual([...Array(3).fill('live'), ...Array(COUNT - 3).fill('queued')]);
  expect(rows.filter(({ state }) => state === 'queued').map(({ error }) => error?.name)).toEqual(Array(COUNT - 3).fill('OverLimit'));
  expect(await reserved()).toBeLessThanOrEqual(LIMIT);
});

test('when the connection is lost after the commit of a batch, no claim gets a second attempt, and polling sends the committed ones', async () => {
  const many = await submitMany('lost');
  let lost = 0;
  const states = new AppStates();
  const isolated: App = {
    ...t.app,
    // The first database transaction of a batch commits, and its result is lost.
    async tx(work) {
      const result = await t.app.tx(work);
      if (result instanceof Set && lost++ === 0) throw new Error('the connection is lost');
      return result;
    },
    state: (slot) => states.get(isolated, slot),
  };
  await signAll(isolated, many);
  expect(lost).toBeGreaterThan(0);
  const rows = await rowsOf(many.type);
  expect(rows.map(({ state, attempts }) => [state, attempts])).toEqual(rows.map(() => ['live', 1]));
  await runUntil(t.app, many.type, many.subjects, ['finalized']);
  expect(await reserved()).toBe(rows.reduce((sum, row) => sum + BigInt(row.reserved), 0n));
});
