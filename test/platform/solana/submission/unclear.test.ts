import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pollPending, type TransactionType } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
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
async function storeAttempts(type: string, n: number, age: string): Promise<void> {
  await sql(
    t.app,
    `with added as (
       insert into chain_transactions (kind, subject, state, attempts, priority)
       select $1, $1 || '-' || i, 'live', 1, 'payouts' from generate_series(1, $2::int) i returning id, subject)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, preamble, signed_slot, sent_slot, signed_at, poll_at, spends, spend_day, priority)
     select id, 1, 'sent', subject, '', '{}', 500, 0, 400, 9999, app_now() - $3::interval, app_now() - $3::interval, '[]', 1, 'payouts' from added`,
    [type, n, age],
  );
}

const countOf = async (type: string, state: string) =>
  (await sql<{ n: number }>(t.app, 'select count(*)::int as n from chain_transactions where kind = $1 and state = $2', [type, state]))[0]?.n;

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
