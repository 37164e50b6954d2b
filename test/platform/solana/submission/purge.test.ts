import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { purgeAttemptBytes } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { asOwner } from '#test/support/database.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, runOnce, runUntil, submitPayments, transferType } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  t = await startTestApp({ workers: false, env: { ...chain.env, LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4' } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const age = statement(
  'test_age_attempts',
  `update chain_attempts a set signed_at = app_now() - make_interval(days => $2::int) from chain_transactions t where t.id = a.transaction_id and t.subject = $1`,
);

test('the signed bytes of a transaction are deleted 30 days after its signing, but not while it is live; its signature is kept', async () => {
  const type = transferType('aged');
  const [old, recent, live] = [newPayment(), newPayment(), newPayment()];
  await submitPayments(t.app, type, [old, recent]);
  await runUntil(t.app, type, [old, recent], ['finalized']);
  const dropped = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  await submitPayments(t.app, type, [live]);
  await runOnce(t.app, new Map([[type.name, type]]), [live]);
  for (const [subject, days] of [[old, 31] as const, [recent, 29] as const, [live, 31] as const])
    await asOwner(t.app, (tx) => tx.query(age, [subject, days]));

  expect(await t.app.tx(purgeAttemptBytes)).toBe(false);
  const rows = await sql<{ subject: string; isEmpty: boolean; hasSignature: boolean }>(
    t.app,
    `select t.subject, a.bytes = '' as "isEmpty", length(a.signature) > 80 as "hasSignature"
     from chain_attempts a join chain_transactions t on t.id = a.transaction_id`,
  );
  expect(new Map(rows.map(({ subject, isEmpty, hasSignature }) => [subject, { isEmpty, hasSignature }]))).toEqual(
    new Map([
      [old, { isEmpty: true, hasSignature: true }],
      [recent, { isEmpty: false, hasSignature: true }],
      [live, { isEmpty: false, hasSignature: true }],
    ]),
  );
  await dropped.clear();
});
