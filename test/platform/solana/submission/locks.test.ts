import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signAndSend, type TransactionType } from '#platform/solana/submission/index.ts';
import { retryManual } from '#platform/solana/submission/manual.ts';
import { lockTransactions, transitionAttempts } from '#platform/solana/submission/transition-rows.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';
import { meanwhile } from '#test/support/meanwhile.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, submitPayments, transferType } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  t = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

/** Submits a payment. @returns the id of its transaction */
async function submitPayment(type: TransactionType): Promise<string> {
  const subject = newPayment();
  await submitPayments(t.app, type, [subject]);
  const [row] = await sql<{ id: string }>(t.app, 'select id::text from chain_transactions where subject = $1', [subject]);
  if (!row) throw new Error('no transaction was submitted');
  return row.id;
}
const stateOf = async (id: string) => (await sql<{ state: string }>(t.app, 'select state from chain_transactions where id = $1', [id]))[0]?.state;

test('while a worker signs a transaction, another worker neither signs it nor waits', async () => {
  const signed: string[] = [];
  const type: TransactionType = {
    ...transferType('two workers'),
    signed: async (_tx, attempts) => void signed.push(...attempts.map(({ signature }) => signature)),
  };
  const types = new Map([[type.name, type]]);
  const id = await submitPayment(type);
  let second: unknown;
  const first = meanwhile(t.app, 'lock_chain_transaction', async () => {
    second = await Promise.race([signAndSend(t.app, types, id).then(() => 'ended'), sleep(5_000, 'it waits', { ref: false })]);
  });
  await signAndSend(first, types, id);
  expect(second).toBe('ended');
  expect(await sql(t.app, 'select n, signature from chain_attempts where transaction_id = $1', [id])).toEqual([{ n: 1, signature: signed[0] }]);
  expect(signed).toHaveLength(1);
  expect(await stateOf(id)).toBe('live');
});

test('an operator’s retry waits for a transaction that is being marked as finalized, and then does not queue it again', async () => {
  const id = await submitPayment(transferType('landed late'));
  await sql(t.app, `update chain_transactions set state = 'manual' where id = $1`, [id]);
  const commit = await holdTransaction(t.app, (tx) => tx.query({ text: `update chain_transactions set state = 'finalized' where id = $1` }, [id]));
  const retried = t.app.tx((tx) => retryManual(tx, id));
  await untilBlocked(t.app, retried).finally(commit);
  await expect(retried).rejects.toMatchObject({
    status: 409,
    message: 'the transaction is finalized: only a transaction in state manual can be retried',
  });
  expect(await stateOf(id)).toBe('finalized');
});

test('the state changes of several transactions lock them in the order of their ids, before any attempt is changed', async () => {
  const [low = '', high = ''] = [await submitPayment(transferType('low')), await submitPayment(transferType('high'))].sort();
  // In the tables, the rows have the opposite order.
  for (const id of [high, low]) {
    await sql(t.app, `update chain_transactions set state = 'live', attempts = 1 where id = $1`, [id]);
    await sql(
      t.app,
      `insert into chain_attempts (transaction_id, n, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble)
       values ($1, 1, $2, '', '{}', 1, 1, '[]', 0, 0)`,
      [id, `a signature of ${id}`],
    );
  }
  const commit = await holdTransaction(t.app, (tx) => tx.query({ text: 'select 1 from chain_transactions where id = $1 for update' }, [low]));
  const values = [[high, low], [1, 1], [5, 5], [null, null], 'confirmed', 'confirmed', [0, 0]];
  const change = () =>
    t.app.tx(async (tx) => {
      await tx.query(lockTransactions, [[high, low]]);
      return await tx.query(transitionAttempts, values);
    });
  const confirmed = change();
  await untilBlocked(t.app, confirmed);
  const free = await Promise.all([
    sql(t.app, 'select id::text from chain_transactions where id = any($1::uuid[]) for update skip locked', [[low, high]]),
    sql(t.app, 'select transaction_id::text as id from chain_attempts where transaction_id = any($1::uuid[]) order by 1 for update skip locked', [
      [low, high],
    ]),
  ]).finally(commit);
  expect(free).toEqual([[{ id: high }], [{ id: low }, { id: high }]]);
  expect((await confirmed).map(({ id }) => id).sort()).toEqual([low, high]);
  expect([await stateOf(low), await stateOf(high)]).toEqual(['confirmed', 'confirmed']);
  // A repeated change finds no attempt in another state, so it changes nothing.
  expect(await change()).toEqual([]);
});
