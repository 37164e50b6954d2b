import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { arcadeEvent, gameState } from '#areas/arcade/events.ts';
import { notification } from '#areas/social/events.ts';
import { ReplayBuffer } from '#platform/events/replay-buffer.ts';
import { drainStreams, streamsOf } from '#platform/events/sse.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { openEvents, type SseClient, type SseOptions } from '#test/support/http/sse.ts';
import { createWallet, signIn } from '#test/support/wallet.ts';

const LASTS = { startsAt: '2026-11-21T12:00:00.000Z', endsAt: '2026-11-21T12:01:00.000Z' };

let t: TestApp;
const clients: SseClient[] = [];
const keep = (client: SseClient) => {
  clients.push(client);
  return client;
};
const open = async (options?: SseOptions, at: { url: string } = t) => keep(await openEvents(at, options));

beforeAll(async () => {
  t = await startTestApp();
  streamsOf(t.app).setTimes({ heartbeatMs: 100 });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => t.close());

const notify = (...texts: string[]) =>
  t.app.tx(async (tx) => {
    for (const text of texts) tx.emit(notification, { text });
  });
const tell = (wallet: string, version: number) => t.app.tx(async (tx) => tx.emit(gameState, { gameId: 'star-raiders', version }, wallet));

test('a subscriber receives events as Server-Sent Events, with headers that disable buffering by proxies', async () => {
  const client = await open();
  expect(client.status).toBe(200);
  expect(client.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  await notify('hello 👾');
  await client.count(1);
  expect(client.messages[0]).toMatchObject({
    event: 'notification',
    data: { type: 'notification', category: 'system', level: 'info', text: 'hello 👾', at: expect.stringMatching(/^\d{4}-.*Z$/) },
  });
  expect(client.retryMs).toBeGreaterThanOrEqual(1_000);
});

test('a transaction that is rolled back publishes no event', async () => {
  const client = await open();
  const refused = t.app.tx(async (tx) => {
    tx.emit(notification, { text: 'never' });
    throw new Error('rolled back');
  });
  await expect(refused).rejects.toThrow('rolled back');
  await notify('after');
  await client.count(1);
  expect(client.values('text')).toEqual(['after']);
});

test('a subscriber receives only the requested categories', async () => {
  const system = await open({ query: 'categories=system,round' });
  const gameplay = await open({ query: 'categories=gameplay' });
  const all = await open();
  await t.app.tx(async (tx) => {
    tx.emit(notification, { text: 'one' });
    tx.emit(gameState, { gameId: 'star-raiders', version: 1 });
    tx.emit(arcadeEvent, { id: 'e1', name: 'fireworks', ...LASTS, payload: { lines: 'one\r\ntwo\n\nthree' } });
  });
  await all.count(3);
  await system.count(2);
  await gameplay.count(1);
  expect(all.types).toEqual(['notification', 'game_state', 'arcade_event']);
  expect(system.types).toEqual(['notification', 'arcade_event']);
  expect(system.values('payload')[1]).toEqual({ lines: 'one\r\ntwo\n\nthree' });
  expect(gameplay.types).toEqual(['game_state']);
});

test.each(['categories=gossip', 'categories=', 'categories=system&categories=round', 'lastEventId=a&lastEventId=b'])(
  'an invalid query is refused: %s',
  async (query) => {
    const response = await fetch(`${t.url}/events?${query}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/^(categories|lastEventId) must be /) });
  },
);

test('a page of an allowed origin can open a stream with its session', async () => {
  const abort = new AbortController();
  const response = await fetch(`${t.url}/events`, { headers: { Origin: t.origin }, signal: abort.signal });
  abort.abort();
  expect(response.headers.get('access-control-allow-origin')).toBe(t.origin);
  expect(response.headers.get('access-control-allow-credentials')).toBe('true');
});

test('HEAD /events returns the headers of a stream and ends', async () => {
  const response = await fetch(`${t.url}/events`, { method: 'HEAD' });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/event-stream');
});

test('a client that reconnects gets exactly the missed events, by header and by query', async () => {
  const client = await open();
  await notify('1', '2');
  await client.count(2);
  client.close();
  await notify('3');
  await notify('4', '5');
  const byHeader = keep(await client.reconnect());
  const byQuery = await open({ query: `lastEventId=${encodeURIComponent(client.lastEventId)}` });
  const byBoth = await open({ query: 'lastEventId=nonsense', lastEventId: client.lastEventId });
  await notify('6');
  for (const resumed of [byHeader, byQuery, byBoth]) {
    await resumed.count(4);
    expect(resumed.values('text')).toEqual(['3', '4', '5', '6']);
  }
});

test('a stream can be resumed after every message', async () => {
  const client = await open({ query: 'categories=system' });
  const texts = Array.from({ length: 12 }, (_, i) => `m${i}`);
  for (const text of texts) await Promise.all([notify(text), tell(createWallet().address, 1)]);
  await client.count(12);
  for (const [i, message] of client.messages.entries()) {
    const resumed = await open({ query: 'categories=system', lastEventId: message.id });
    await resumed.count(11 - i);
    await resumed.until('its place', () => resumed.lastEventId === client.lastEventId);
    expect(resumed.values('text')).toEqual(texts.slice(i + 1));
  }
});

test('heartbeats of a stream without events carry the current id', async () => {
  const client = await open({ query: 'categories=round' });
  await client.until('the first id', () => client.lastEventId !== '');
  const before = client.lastEventId;
  await notify('unseen');
  await client.until('a heartbeat with a new id', () => client.lastEventId !== before);
  expect(client.messages).toEqual([]);
  expect(client.comments.length).toBeGreaterThanOrEqual(2);
  const resumed = keep(await client.reconnect());
  await resumed.until('the answer', () => resumed.comments.length > 0);
  expect(resumed.comments[0]).toBe('resumed');
});

test('a stream can be resumed at another process', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    let client = await open();
    const seen: unknown[] = [];
    for (let i = 0; i < 20; i++) {
      await notify(`${i}a`);
      await client.count(1);
      client.close();
      await notify(`${i}b`, `${i}c`);
      seen.push(...client.values('text'));
      // The other process may not have read these events from Redis yet.
      client = keep(await client.reconnect({ url: `${i % 2 === 0 ? other.url : t.url}/events` }));
      await client.count(2);
      seen.push(...client.values('text'));
      expect(client.types).not.toContain('reset');
      client = keep(await client.reconnect());
    }
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => [`${i}a`, `${i}b`, `${i}c`]).flat());
  } finally {
    await other.close();
  }
});

test.each([
  ['of another stream', () => '0123456789ab:5-0'],
  ['older than the stream', (id: string) => id.replace(/:.*/, ':0-1')],
  ['from the future', (id: string) => id.replace(/:.*/, ':999999999-0')],
  ['malformed', () => 'what?'],
  ['of another service', () => '1526919030474-55'],
])('an id %s gets a reset, and then the stream is live', async (_, make) => {
  const client = await open();
  await notify('before');
  await client.count(1);
  const resumed = await open({ lastEventId: make(client.lastEventId), query: 'categories=system' });
  await resumed.count(1);
  expect(resumed.messages[0]).toMatchObject({
    event: 'reset',
    data: { type: 'reset', category: 'system', links: { leaderboard: '/leaderboard/global', arcade: '/arcade/state' } },
  });
  await notify('after');
  await resumed.count(2);
  expect(resumed.values('text', 'notification')).toEqual(['after']);
  const again = keep(await resumed.reconnect({ lastEventId: resumed.messages[0]?.id ?? '' }));
  await again.count(1);
  expect(again.values('text')).toEqual(['after']);
});

test('events of a wallet reach all streams of this wallet and no other streams', async () => {
  const [alice, bob] = [await signIn(t), await signIn(t)];
  const streams = {
    phone: await open({ cookie: alice.cookie }),
    laptop: await open({ cookie: alice.cookie, query: 'categories=gameplay,system' }),
    rounds: await open({ cookie: alice.cookie, query: 'categories=round' }),
    bob: await open({ cookie: bob.cookie }),
    nobody: await open(),
  };
  await tell(alice.wallet, 1);
  await tell(bob.wallet, 7);
  await tell(alice.wallet, 2);
  await notify('end');
  for (const name of ['phone', 'laptop', 'bob', 'nobody'] as const)
    await streams[name].until('the end', () => streams[name].types.includes('notification'));
  expect(streams.phone.values('version', 'game_state')).toEqual([1, 2]);
  expect(streams.laptop.values('version', 'game_state')).toEqual([1, 2]);
  expect(streams.bob.values('version', 'game_state')).toEqual([7]);
  expect(streams.nobody.types).toEqual(['notification']);
  expect(streams.rounds.types).toEqual([]);
  // A resumed stream does not contain events of other wallets either.
  const first = streams.phone.messages[0]?.id ?? '';
  const stranger = await open({ lastEventId: first, cookie: bob.cookie });
  await stranger.count(2);
  expect(stranger.types).toEqual(['game_state', 'notification']);
  expect(stranger.values('version', 'game_state')).toEqual([7]);
});

test('a stream ends with its session, and a new stream has no events of the wallet', async () => {
  const alice = await signIn(t);
  const client = await open({ cookie: alice.cookie });
  await tell(alice.wallet, 1);
  await client.count(1);
  await alice.fetch('/auth/logout', { method: 'POST' });
  await client.ended;
  await tell(alice.wallet, 2);
  await notify('for all');
  const again = keep(await client.reconnect());
  await again.count(1);
  expect(again.types).toEqual(['notification']);
});

test('a client that does not read is dropped, and can resume without a gap', async () => {
  const streams = streamsOf(t.app);
  const fast = await open();
  const slow = await open({ paused: true });
  await fast.until('the first id', () => fast.lastEventId !== '');
  const before = streams.size;
  const big = 'x'.repeat(100_000);
  let sent = 0;
  while (streams.size === before && sent < 400) {
    await t.app.tx(async (tx) => {
      for (let i = 0; i < 10; i++) tx.emit(arcadeEvent, { id: `${sent + i}`, name: big, ...LASTS });
    });
    sent += 10;
    await fast.count(sent);
  }
  expect(streams.size).toBe(before - 1);
  slow.resume();
  await slow.ended;
  expect(slow.messages.length).toBeLessThan(sent);
  const resumed = keep(await slow.reconnect());
  await resumed.count(sent - slow.messages.length);
  const ids = Array.from({ length: sent }, (_, i) => `${i}`);
  expect([...slow.values('id'), ...resumed.values('id')]).toEqual(ids);
  expect(fast.values('id')).toEqual(ids);
}, 60_000);

test('streams end after their rotation time, and at once when the process stops', async () => {
  const other = await startApi(t.env, t.clock);
  streamsOf(other.app).setTimes({ heartbeatMs: 20, rotateMs: 300 });
  try {
    const rotated = await open({}, other);
    await rotated.ended;
    expect(rotated.comments[0]).toBe('live');
    const open5 = await Promise.all(Array.from({ length: 5 }, () => open({}, other)));
    await drainStreams(other.app);
    await Promise.all(open5.map((client) => client.ended));
    const refused = await fetch(`${other.url}/events`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
  } finally {
    await other.close();
  }
});

test('a message in the replay buffer does not keep a larger buffer in memory', () => {
  const entry = { ...{ id: '1-0', epoch: '0123456789ab', publication: 1, category: 'system', wallet: '', type: 'notification', own: '' }, seq: 0 };
  const window = new ReplayBuffer({ ...entry, data: '' }, t.app.events.batched);
  for (let seq = 1; seq <= 3; seq++) window.push({ ...entry, seq, data: '{"text":"short"}' });
  const frames = (window.since(1) ?? []).map(({ frame }) => frame);
  expect(frames.map((frame) => frame?.toString())).toEqual([1, 2, 3].map((seq) => expect.stringContaining(`1-${seq}\n`)));
  expect(frames.map((frame) => frame?.buffer.byteLength)).toEqual(frames.map((frame) => frame?.length));
});
