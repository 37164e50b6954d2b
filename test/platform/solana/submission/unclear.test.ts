import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pollPending, type TransactionType } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { ignoredFailures } from '#test/support/failing-statements.ts';
import { transferType } from '#test/support/solana/submission.ts';

const UNCLEAR = 6_000;

let t: TestApp;
/** Number of requests to the RPC node by method, and number of composed transactions. */
let requests: Record<'statuses' | 'send' | 'firstBlock' | 'composed', number>;
/** Signatures that are finalized. All other signatures have no status. */
const landed = new Set<string>();
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const { node } = t.app.chain;
  node.finalizedHeight = async () => ({ slot: 10_000, height: 10_000 });
  node.firstBlock = async () => {
    requests.firstBlock++;
    return 9_000;
  };
  node.statuses = async (signatures) => {
    requests.statuses++;
    return {
      slot: 10_000,
      statuses: signatures.map((signature) => (landed.has(signature) ? { slot: 9_990, err: null, confirmationStatus: 'finalized' as const } : null)),
    };
  };
  node.send = async () => {
    requests.send++;
    return '';
  };
});
beforeEach(() => {
  requests = { statuses: 0, send: 0, firstBlock: 0, composed: 0 };
});
afterAll(() => t.close());

/** Stores pending attempts with a blockhash that is not valid any more. The history of the RPC node starts after their signing. */
async function storeAttempts(type: string, n: number, age: string, lastValidHeight = 500): Promise<void> {
  await sql(
    t.app,
    `with added as (
       insert into chain_transactions (kind, subject, state, attempts, priority)
       select $1, $1 || '-' || i, 'live', 1, 'payouts' from generate_series(1, $2::int) i returning id, subject)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, preamble, signed_slot, sent_slot, signed_at, poll_at, spends, spend_day, priority)
     select id, 1, 'sent', subject, '', '{}', $4::int8, 0, 400, 9999, app_now() - $3::interval, app_now() - $3::interval, '[]', 1, 'payouts' from added`,
    [type, n, age, lastValidHeight],
  );
}

/** Ends all attempts, so that later tests do not poll them. */
const endAttempts = () => sql(t.app, `update chain_attempts set state = 'dead'`);

const countOf = async (type: string, state: string) =>
  (await sql<{ n: number }>(t.app, 'select count(*)::int as n from chain_transactions where kind = $1 and state = $2', [type, state]))[0]?.n;

const typesOf = (type: TransactionType) => new Map([[type.name, type]]);

test('all attempts whose effect is on the chain already end in one poll', async () => {
  const type: TransactionType = { ...transferType('done'), compose: async () => ({ do: 'done', signature: null, slot: 9 }) };
  await storeAttempts(type.name, 3, '2 hours');
  await pollPending(t.app, typesOf(type));
  expect(await countOf(type.name, 'queued')).toBe(3);
});

test('of many unclear attempts, the effects of those are searched first whose last check is the longest ago', async () => {
  const searched: string[] = [];
  const type: TransactionType = {
    ...transferType('searched'),
    compose: async (_app, subject) => {
      searched.push(subject);
      return { do: 'wait', ms: 1_000, reason: 'a test' };
    },
  };
  await storeAttempts(type.name, 20, '3 days');
  await sql(
    t.app,
    `update chain_attempts set looked_at = app_now() - make_interval(hours => split_part(signature, '-', 2)::int) where signature like 'searched-%' and signature <> 'searched-1'`,
  );
  await pollPending(t.app, typesOf(type));
  const numbers = searched.map((subject) => Number(subject.split('-')[1])).sort((a, b) => a - b);
  // The first one was never checked.
  expect(numbers).toEqual([1, ...Array.from({ length: 15 }, (_, i) => 6 + i)]);
  await endAttempts();
});

test('an attempt is checked after its blockhash has expired by the required depth, and not before', async () => {
  const type = transferType('expiring', { afterFailure: 'over' });
  // The chain has the height 10,000, and the required depth is 32 blocks.
  await storeAttempts(type.name, 1, '1 hour', 9_968);
  await pollPending(t.app, typesOf(type));
  const lookedAt = () => sql(t.app, `select looked_at is null as never from chain_attempts where signature = 'expiring-1'`);
  expect(await lookedAt()).toEqual([{ never: true }]);
  await sql(t.app, `update chain_attempts set last_valid_height = 9967, poll_at = app_now() where signature = 'expiring-1'`);
  await pollPending(t.app, typesOf(type));
  expect(await lookedAt()).toEqual([{ never: false }]);
  await endAttempts();
});

test('the longer an attempt has no status, the later it is polled again, up to half a minute', async () => {
  const ages = { '50 seconds': 0, '2 minutes': 6, '2 hours': 30 };
  for (const age of Object.keys(ages)) await storeAttempts(age, 1, age);
  await pollPending(t.app, new Map());
  for (const [age, seconds] of Object.entries(ages)) {
    const [row] = await sql<{ wait: number }>(
      t.app,
      'select greatest(0, extract(epoch from poll_at - app_now()))::float8 as wait from chain_attempts where signature = $1',
      [`${age}-1`],
    );
    expect(row?.wait).toBeLessThanOrEqual(seconds + 0.1);
    expect(row?.wait).toBeGreaterThanOrEqual(seconds * 0.9);
  }
  await endAttempts();
});

test('a poll fails when the database does not store the check of an attempt, its mark for an operator or its next poll', async () => {
  const type: TransactionType = { ...transferType('unstored'), compose: async () => ({ do: 'wait', ms: 1_000, reason: 'a test' }) };
  await storeAttempts(type.name, 1, '2 hours');
  const ignored = await ignoredFailures(t.app, async (app) => {
    await sql(t.app, `update chain_attempts set looked_at = null, poll_at = app_now() where signature = 'unstored-1'`);
    await sql(t.app, `update chain_transactions set state = 'live' where subject = 'unstored-1'`);
    await pollPending(app, typesOf(type));
  });
  expect(ignored).toEqual([]);
  expect(await countOf(type.name, 'manual')).toBe(1);
  await endAttempts();
});

test('thousands of attempts whose outcome stays unknown do not delay the others, and cost few requests', async () => {
  const unclear: TransactionType = {
    ...transferType('unclear', { afterFailure: 'again' }),
    compose: async () => {
      requests.composed++;
      return { do: 'wait', ms: 1_000, reason: 'a test' };
    },
  };
  const fresh = transferType('fresh');
  const types = new Map([unclear, fresh].map((type) => [type.name, type]));
  await storeAttempts(unclear.name, UNCLEAR, '2 hours');
  // While many attempts are read for the first time, each poll reads the next ones.
  for (let poll = 0; poll < 3; poll++) await pollPending(t.app, types);
  expect(await countOf(unclear.name, 'manual')).toBeGreaterThan(0);

  await storeAttempts(fresh.name, 100, '1 second');
  for (let i = 1; i <= 100; i++) landed.add(`${fresh.name}-${i}`);
  requests = { statuses: 0, send: 0, firstBlock: 0, composed: 0 };
  await pollPending(t.app, types);
  expect(await countOf(fresh.name, 'finalized')).toBe(100);
  expect(fresh.hookCalls.finalized).toHaveLength(100);
  expect(requests.statuses).toBeLessThan(10);
  expect(requests.composed).toBeLessThanOrEqual(16);
  expect(requests.firstBlock).toBeLessThanOrEqual(1);

  // The attempts are still polled: one that lands later is found.
  landed.add(`${unclear.name}-${UNCLEAR}`);
  await sql(t.app, 'update chain_attempts set poll_at = app_now() where signature = $1', [`${unclear.name}-${UNCLEAR}`]);
  await pollPending(t.app, types);
  expect(await countOf(unclear.name, 'finalized')).toBe(1);
});

test('every attempt of many gets its expiry check, also while others stay unclear', async () => {
  const types = new Map([transferType('unclear', { afterFailure: 'over' })].map((type) => [type.name, type]));
  await sql(t.app, `update chain_attempts set poll_at = app_now(), looked_at = null where state = 'sent'`);
  for (let poll = 0; poll < 12; poll++) {
    await sql(t.app, `update chain_attempts set poll_at = app_now() where state = 'sent' and looked_at is null`);
    await pollPending(t.app, types);
  }
  expect(await sql(t.app, `select count(*)::int as n from chain_attempts where state = 'sent' and looked_at is null`)).toEqual([{ n: 0 }]);
});
