import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { judgeHeartbeats } from '#areas/arcade';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { FAST, pause, SessionClient, startApi, type TestApi } from '#test/support/http/heartbeat.ts';
import { bodyOf } from '#test/support/http/json.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** Longer than a session may be silent. */
const BREAK = FAST.silenceMs + FAST.toleranceMs + 300;

let t: TestApp;
let player: SignedIn;
let api: TestApi;
let second: TestApi;
const clients: SessionClient[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
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
  const { playId, startedAt } = await bodyOf(player.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt);
  return { playId, startedAt: new Date(startedAt) };
}
async function open({ playId }: Play, at = api): Promise<SessionClient> {
  const client = await SessionClient.open(at.url, { playId, cookie: player.cookie });
  clients.push(client);
  return client;
}
/** Leaves, and waits until the service has written that down. */
async function leave(client: SessionClient, { playId }: Play): Promise<void> {
  await client.leave();
  while ((await t.app.redis.hget(`${t.env.REDIS_PREFIX}:beats:${playId}`, 'left')) !== 'client') await pause(10);
}
/** What the worker would find for a score that is submitted now, or `inMs` from now. */
async function judge(play: Play, inMs = 0) {
  return (await judgeHeartbeats(t.app, [{ ...play, endedAt: new Date(Date.now() + inMs) }], FAST))[0];
}
const ok = { verdict: 'ok' };
const held = { verdict: 'held', reason: expect.any(String) };
const refused = { verdict: 'refused', reason: expect.any(String) };

/** Takes all that Redis holds of this application, as a restart without a dump does. */
async function loseRedis(): Promise<void> {
  const keys = await t.app.redis.keys(`*${t.env.REDIS_PREFIX}*`);
  if (keys.length > 0) await t.app.redis.unlink(...keys);
}

test('a session that beats from start to end is unbroken', async () => {
  const play = await start();
  const client = await open(play);
  await client.play(BREAK);
  expect(await judge(play)).toEqual(ok);
});

test('many plays are judged at once, in the order given', async () => {
  const plays = await Promise.all([start(), start(), start()]);
  await (await open(plays[1])).beat();
  const endedAt = new Date();
  expect(
    await judgeHeartbeats(
      t.app,
      plays.map((play) => ({ ...play, endedAt })),
      FAST,
    ),
  ).toEqual([refused, ok, refused]);
  expect(await judgeHeartbeats(t.app, [])).toEqual([]);
});

test('a play whose client never beat is refused, also when it opened a socket', async () => {
  const [silent, opened] = [await start(), await start()];
  await open(opened);
  expect(await judge(silent)).toEqual({ verdict: 'refused', reason: 'no heartbeat was received' });
  expect(await judge(opened)).toEqual({ verdict: 'refused', reason: 'no heartbeat was received' });
});

test('a client that opens its session too late is refused', async () => {
  const play = await start();
  await pause(BREAK);
  await (await open(play)).beat();
  expect(await judge(play)).toEqual(refused);
});

test('a client that leaves and comes back anywhere in time is unbroken', async () => {
  const play = await start();
  const first = await open(play);
  await first.beat();
  await first.leave();
  await pause(FAST.silenceMs - 200);
  const again = await open(play, second);
  expect((await again.beat()).beats).toBe(2);
  await again.leave();
  await pause(FAST.silenceMs - 200);
  expect((await (await open(play)).beat()).beats).toBe(3);
  expect(await judge(play)).toEqual(ok);
});

test('a client that comes back too late is refused, wherever it comes back', async () => {
  for (const back of [api, second]) {
    const play = await start();
    const client = await open(play);
    await client.beat();
    await client.leave();
    await pause(BREAK);
    await (await open(play, back)).beat();
    expect(await judge(play)).toEqual(refused);
  }
});

test('a client that falls silent is refused, whether or not it comes back', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  expect((await client.closed).code).toBe(4008);
  await pause(BREAK - FAST.silenceMs);
  expect(await judge(play)).toEqual(refused);
  await (await open(play)).beat();
  expect(await judge(play)).toEqual(refused);
});

test('what a client does after it submitted its score does not count', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  const endedAt = new Date();
  await client.leave();
  await pause(BREAK);
  await (await open(play)).beat();
  expect(await judgeHeartbeats(t.app, [{ ...play, endedAt }], FAST)).toEqual([ok]);
});

test('a service that stops and is back in time breaks nothing', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  await api.stop();
  expect((await client.closed).code).toBe(1012);
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(ok);
});

test('a silence that began when the service stopped makes the score held', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  await api.stop();
  expect(await judge(play)).toEqual(ok);
  await pause(BREAK);
  expect(await judge(play)).toEqual(held);
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(held);
});

test('a silence that began when the holding process died makes the score held', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  api.kill();
  await client.closed;
  await pause(BREAK);
  expect(await judge(play)).toEqual(held);
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(held);
});

test('a client that had left when its process died could not come back, and is held', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  await leave(client, play);
  api.kill();
  await pause(BREAK);
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(held);
});

test('a silence of the client’s before one of ours is refused all the same', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  await client.leave();
  await pause(BREAK);
  await (await open(play)).beat();
  api.kill();
  await pause(BREAK);
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(refused);
});

test('a Redis that lost its memory learns the sessions anew from who holds them', async () => {
  const play = await start();
  const client = await open(play);
  await client.play(200);
  await loseRedis();
  await client.play(BREAK);
  expect(await judge(play)).toEqual(ok);
});

test('beats that were lost with Redis make the score held, not refused', async () => {
  const [left, back] = [await start(), await start()];
  for (const play of [left, back]) {
    const client = await open(play);
    await client.play(FAST.silenceMs);
    await leave(client, play);
  }
  await loseRedis();
  expect(await judge(left)).toEqual(held);
  await (await open(back, second)).beat();
  expect(await judge(left)).toEqual(held);
  expect(await judge(back)).toEqual(held);
  await pause(BREAK);
  await (await open(left, second)).beat();
  expect(await judge(left)).toEqual(held);
});

test('plays that begin after Redis lost its memory are judged as ever', async () => {
  await loseRedis();
  await pause(2 * FAST.refreshMs);
  const play = await start();
  expect(await judge(play)).toEqual(refused);
});

test('a Redis that is away for a while breaks no session that goes on', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  api.app.redis.disconnect();
  await client.play(BREAK);
  await api.app.redis.connect();
  await client.play(300);
  expect(await judge(play)).toEqual(ok);
});

test('a client that leaves while Redis is away, and comes back elsewhere, is not refused', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  api.app.redis.disconnect();
  second.app.redis.disconnect();
  await client.play(BREAK);
  await client.leave();
  await second.app.redis.connect();
  await (await open(play, second)).beat();
  expect(await judge(play)).toEqual(held);
});

test('a process that stood still puts the silence down to itself', async () => {
  const play = await start();
  const client = await open(play);
  await client.beat();
  const until = performance.now() + BREAK;
  while (performance.now() < until);
  expect((await client.beat()).beats).toBe(2);
  expect(await judge(play)).toEqual(held);
});
