import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { evaluateHeartbeats } from '#areas/arcade';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { allowLivePlays } from '#test/support/areas/arcade.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { FAST_TIMING, realDelay, SessionClient, startApi, type TestApi } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { deleteKeys } from '#test/support/redis-keys.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** Longer than the maximum silence of a session, ms. */
const BREAK = FAST_TIMING.silenceMs + FAST_TIMING.toleranceMs + 300;

let t: TestApp;
let player: SignedIn;
let api: TestApi;
let second: TestApi;
const clients: SessionClient[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await allowLivePlays(t, 'star-raiders');
  player = await signIn(t);
});
beforeEach(async () => {
  [api, second] = await Promise.all([startApi(t.env), startApi(t.env)]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.terminate();
  await Promise.all([api.close(), second.close()]);
});
afterAll(() => t.close());

interface Play {
  playId: string;
  startedAt: Date;
}
async function start(): Promise<Play> {
  const { playId, startedAt } = await jsonOf(player.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt);
  return { playId, startedAt: new Date(startedAt) };
}
async function open({ playId }: Play, at = api): Promise<SessionClient> {
  const client = await SessionClient.open(at.url, { playId, cookie: player.cookie });
  clients.push(client);
  return client;
}
/** Closes the client, and waits until the service has recorded this in Redis. */
async function leave(client: SessionClient, { playId }: Play): Promise<void> {
  await client.leave();
  while ((await t.app.redis.hget(`${t.env.REDIS_PREFIX}:beats:${playId}`, 'left')) !== 'client') await realDelay(10);
}
/** Returns the verdict on a score that is submitted `inMs` from now. */
async function evaluate(play: Play, inMs = 0) {
  return (await evaluateHeartbeats(t.app, [{ ...play, endedAt: new Date(Date.now() + inMs) }], FAST_TIMING))[0];
}
const ok = { verdict: 'ok' };
const held = { verdict: 'held', reason: expect.any(String) };
const refused = { verdict: 'refused', reason: expect.any(String) };

/** Deletes all keys of this application in Redis, as a restart without a dump does. */
async function loseRedis(): Promise<void> {
  await deleteKeys(t.app.redis, `*${t.env.REDIS_PREFIX}*`);
}

test('a session with heartbeats from start to end is unbroken', async () => {
  const play = await start();
  const client = await open(play);
  await client.play(BREAK);
  expect(await evaluate(play)).toEqual(ok);
});

test('several plays are evaluated at once and the verdicts keep their order', async () => {
  const plays = await Promise.all([start(), start(), start()]);
  await (await open(plays[1])).sendHeartbeat();
  const endedAt = new Date();
  expect(
    await evaluateHeartbeats(
      t.app,
      plays.map((play) => ({ ...play, endedAt })),
      FAST_TIMING,
    ),
  ).toEqual([refused, ok, refused]);
  expect(await evaluateHeartbeats(t.app, [])).toEqual([]);
});

test('a play without heartbeats is refused, even if its client opened a socket', async () => {
  const [silent, opened] = [await start(), await start()];
  await open(opened);
  expect(await evaluate(silent)).toEqual({ verdict: 'refused', reason: 'no heartbeat was received' });
  expect(await evaluate(opened)).toEqual({ verdict: 'refused', reason: 'no heartbeat was received' });
});

test('a play whose session opens too late is refused', async () => {
  const play = await start();
  await realDelay(BREAK);
  await (await open(play)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(refused);
});

test('a session is unbroken if its client reconnects in time, to any process', async () => {
  const play = await start();
  const first = await open(play);
  await first.sendHeartbeat();
  await first.leave();
  await realDelay(FAST_TIMING.silenceMs - 400);
  const again = await open(play, second);
  expect((await again.sendHeartbeat()).beats).toBe(2);
  await again.leave();
  await realDelay(FAST_TIMING.silenceMs - 400);
  expect((await (await open(play)).sendHeartbeat()).beats).toBe(3);
  expect(await evaluate(play)).toEqual(ok);
});

test('a play is refused if its client reconnects too late, to any process', async () => {
  for (const back of [api, second]) {
    const play = await start();
    const client = await open(play);
    await client.sendHeartbeat();
    await client.leave();
    await realDelay(BREAK);
    await (await open(play, back)).sendHeartbeat();
    expect(await evaluate(play)).toEqual(refused);
  }
});

test('a play with a silent client is refused, even if the client reconnects later', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  expect((await client.closed).code).toBe(4008);
  await realDelay(BREAK - FAST_TIMING.silenceMs);
  expect(await evaluate(play)).toEqual(refused);
  await (await open(play)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(refused);
});

test('the verdict ignores silence after the score was submitted', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  const endedAt = new Date();
  await client.leave();
  await realDelay(BREAK);
  await (await open(play)).sendHeartbeat();
  expect(await evaluateHeartbeats(t.app, [{ ...play, endedAt }], FAST_TIMING)).toEqual([ok]);
});

test('a session is unbroken if its client reconnects in time after the service stops', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  await api.stop();
  expect((await client.closed).code).toBe(1012);
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(ok);
});

test('a score is held if the silence began when the service stopped', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  await api.stop();
  expect(await evaluate(play)).toEqual(ok);
  await realDelay(BREAK);
  expect(await evaluate(play)).toEqual(held);
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(held);
});

test('a score is held if the silence began when the process with the socket died', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  api.kill();
  await client.closed;
  await realDelay(BREAK);
  expect(await evaluate(play)).toEqual(held);
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(held);
});

test('a score is held if the process died after its client left', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  await leave(client, play);
  api.kill();
  await realDelay(BREAK);
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(held);
});

test('a play is refused if the client was silent before the service lost the session', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  await client.leave();
  await realDelay(BREAK);
  await (await open(play)).sendHeartbeat();
  api.kill();
  await realDelay(BREAK);
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(refused);
});

test('after Redis lost its data, the processes with the sockets restore the sessions', async () => {
  const play = await start();
  const client = await open(play);
  await client.play(200);
  await loseRedis();
  await client.play(BREAK);
  expect(await evaluate(play)).toEqual(ok);
});

test('a session whose latest heartbeats a failover lost is saved again before its next heartbeat', async () => {
  const play = await start();
  await (await open(play)).sendHeartbeat();
  await t.app.redis.unlink(`${t.env.REDIS_PREFIX}:beats:${play.playId}`);
  api.app.redis.emit('ready');
  await retryUntilPass(async () => expect(await evaluate(play)).toEqual(ok));
});

test('a score is held if Redis lost its heartbeats', async () => {
  const [left, back] = [await start(), await start()];
  for (const play of [left, back]) {
    const client = await open(play);
    await client.play(FAST_TIMING.silenceMs);
    await leave(client, play);
  }
  await loseRedis();
  expect(await evaluate(left)).toEqual(held);
  await (await open(back, second)).sendHeartbeat();
  expect(await evaluate(left)).toEqual(held);
  expect(await evaluate(back)).toEqual(held);
  await realDelay(BREAK);
  await (await open(left, second)).sendHeartbeat();
  expect(await evaluate(left)).toEqual(held);
});

test('a play without heartbeats that begins after a data loss of Redis is refused', async () => {
  await loseRedis();
  await realDelay(2 * FAST_TIMING.refreshMs);
  const play = await start();
  expect(await evaluate(play)).toEqual(refused);
});

test('an outage of Redis does not break an open session', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  api.app.redis.disconnect();
  await client.play(BREAK);
  await api.app.redis.connect();
  await client.play(300);
  expect(await evaluate(play)).toEqual(ok);
});

test('a score is held if its client leaves during an outage of Redis and reconnects to another process', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  api.app.redis.disconnect();
  second.app.redis.disconnect();
  await client.play(BREAK);
  await client.leave();
  await second.app.redis.connect();
  await (await open(play, second)).sendHeartbeat();
  expect(await evaluate(play)).toEqual(held);
});

test('after a stall, a process records itself as the cause of the silence', async () => {
  const play = await start();
  const client = await open(play);
  await client.sendHeartbeat();
  const until = performance.now() + BREAK;
  while (performance.now() < until);
  expect((await client.sendHeartbeat()).beats).toBe(2);
  expect(await evaluate(play)).toEqual(held);
});
