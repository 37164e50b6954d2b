import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { streamsOf } from '#platform/events/sse.ts';
import { streamRefusal } from '#platform/events/stream-shares.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

test('readers without a session get at most 60 % of the streams, and streams with a session get the rest', () => {
  const refusal = (all: number, anonymous: number, wallet: number | null) => streamRefusal(100, { all, anonymous, wallet })?.status ?? null;
  expect([refusal(59, 59, null), refusal(60, 60, null), refusal(60, 60, 0), refusal(99, 60, 19), refusal(100, 60, 0)]).toEqual([
    null,
    503,
    null,
    null,
    503,
  ]);
  expect(refusal(20, 0, 20)).toBe(429);
});

test('concurrent streams without a session leave room for a stream with a session', async () => {
  streamsOf(t.app).setMax(10);
  const gone = new AbortController();
  const open = async () => (await fetch(`${t.url}/events`, { signal: gone.signal })).status;
  // Streams that open at the same time pass the first check together; the process ends those that exceed the share.
  await Promise.all(Array.from({ length: 20 }, open));
  expect([streamsOf(t.app).anonymous, await open()]).toEqual([6, 503]);
  const player = await signIn(t);
  const own = await player.fetch('/events', { signal: gone.signal });
  expect(own.status).toBe(200);
  expect([streamsOf(t.app).size, streamsOf(t.app).anonymous]).toEqual([7, 6]);
  gone.abort();
  while (streamsOf(t.app).size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(streamsOf(t.app).anonymous).toBe(0);
});
