import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { ingestBurns } from '#areas/burns/ingest.ts';
import { endEvent } from '#areas/burns/lifecycle.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { activateNewEvent } from '#test/support/areas/burns.ts';
import { holdTransaction, untilBlocked } from '#test/support/locks.ts';

const DAY_MS = 86_400_000;

let t: TestApp;
beforeAll(async () => {
  // No RPC node answers, so each event becomes final 7 days after its end.
  const env = { REWARD_MINT: bs58.encode(randomBytes(32)), SOLANA_RPC_URL: 'http://127.0.0.1:1' };
  t = await startTestApp({ workers: false, env });
});
afterAll(() => t.close());

test('of two processes that mark an ended event as final, the second waits for the first and changes nothing', async () => {
  const { id } = await activateNewEvent(t.app);
  const { endsAt } = await endEvent(t.app, id);
  const finalAt = async () =>
    (await sql<{ ms: number | null }>(t.app, 'select extract(epoch from final_at)::float8 * 1000 as ms from burn_events where id = $1', [id]))[0]?.ms;
  const end = Date.parse(endsAt ?? '');
  await t.clock.set(new Date(end + 6 * DAY_MS));
  await ingestBurns(t.app).catch(() => undefined);
  expect(await finalAt()).toBeNull();
  const first = end + 7 * DAY_MS;
  const commit = await holdTransaction(t.app, (tx) =>
    tx.query({ text: 'update burn_events set final_at = $2 where id = $1' }, [id, new Date(first).toISOString()]),
  );
  await t.clock.set(new Date(end + 8 * DAY_MS));
  const second = ingestBurns(t.app).catch(() => undefined);
  await untilBlocked(t.app, second);
  await commit();
  await second;
  expect(await finalAt()).toBe(first);
});
