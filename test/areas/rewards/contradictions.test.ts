import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getChain, postResumeKind } from '#areas/rewards/restores/routes.ts';
import { signAndSend, submit } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { transferType } from '#test/support/solana/submission.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('an operator sees which transaction kinds are paused by a contradiction of the providers, and resumes one of them', async () => {
  await sql(
    t.app,
    `insert into chain_pauses (scope, reason) values ('contradiction:claim', 'a test'), ('contradiction:payout-batch', 'another test'), ('payouts', 'an operator')`,
  );
  const admin = adminOf(t);
  const { body } = await admin.ok(getChain);
  expect(body.contradictions).toEqual([
    { kind: 'claim', reason: 'a test', at: expect.any(String) },
    { kind: 'payout-batch', reason: 'another test', at: expect.any(String) },
  ]);
  const type = { ...transferType('claim'), compose: async () => ({ do: 'wait', ms: 60_000, reason: 'composed' }) as const };
  await t.app.tx((tx) => submit(tx, type, ['a subject']));
  const [row] = await sql<{ id: string }>(t.app, `select id::text from chain_transactions where subject = 'a subject'`);
  const reason = async () => {
    await sql(t.app, 'update chain_transactions set next_at = app_now() where id = $1', [row?.id]);
    await signAndSend(t.app, new Map([['claim', type]]), row?.id ?? '');
    return (await sql<{ reason: string }>(t.app, `select error->>'message' as reason from chain_transactions where id = $1`, [row?.id]))[0]?.reason;
  };
  expect(await reason()).toBe('a test');

  const resumed = await admin.ok(postResumeKind, { body: { kind: 'claim' } });
  expect(resumed.body.contradictions.map(({ kind }) => kind)).toEqual(['payout-batch']);
  expect(await reason()).toBe('composed');
  // A pause of an operator is not ended, and a kind that is not paused stays unchanged.
  await admin.ok(postResumeKind, { body: { kind: 'payouts' } });
  expect(await sql(t.app, `select scope from chain_pauses order by scope`)).toEqual([{ scope: 'contradiction:payout-batch' }, { scope: 'payouts' }]);
});
