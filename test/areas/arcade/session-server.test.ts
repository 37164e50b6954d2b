import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { statement } from '#platform/db/sql.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { NEW_ID } from '#test/support/database.ts';
import { sendRaw } from '#test/support/http/framework.ts';
import { FAST_TIMING, failedUpgrade, realDelay, SessionClient, startApi, type TestApi } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let api: TestApi;
let player: SignedIn;
const clients: SessionClient[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  api = await startApi(t.env, { ...FAST_TIMING, silenceMs: 1_500, minIntervalMs: 100 });
  player = await signIn(t);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.socket.terminate();
});
afterAll(async () => {
  await api.close();
  await t.close();
});

async function start(who = player, game = 'star-raiders'): Promise<string> {
  return (await jsonOf(who.fetch(`/game/${game}/play`, { method: 'POST' }), PlayReceipt)).playId;
}
async function open(playId: string, headers: Record<string, string> = {}, url = api.url): Promise<SessionClient> {
  const client = await SessionClient.open(url, { playId, cookie: player.cookie, headers });
  clients.push(client);
  return client;
}

test('the service counts and answers heartbeats', async () => {
  const client = await open(await start());
  expect(await client.sendHeartbeat()).toEqual({ type: 'heartbeat', beats: 1, at: expect.stringMatching(/^\d{4}-.*Z$/) });
  await realDelay(150);
  expect(await client.sendHeartbeat()).toMatchObject({ beats: 2 });
});

test('heartbeats that come too early are neither counted nor answered', async () => {
  const client = await open(await start());
  client.send();
  client.send();
  client.send();
  expect((await client.nextReply()).beats).toBe(1);
  await realDelay(150);
  expect((await client.sendHeartbeat()).beats).toBe(2);
});

test('pages of the service, of allowed origins, and clients without an Origin can open a session', async () => {
  for (const headers of [{}, { Origin: t.origin }, { 'Sec-Fetch-Site': 'same-origin' }])
    expect((await (await open(await start(), headers)).sendHeartbeat()).beats).toBe(1);
});

test('an invalid upgrade gets an error response', async () => {
  const playId = await start();
  const { cookie } = player;
  const stranger = await signIn(t);
  const unused = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
  const used = await start();
  await t.app.tx((tx) =>
    tx.query(
      statement(
        'test_use_up',
        `insert into scores (id, wallet, game_id, game_version, play_id, body_hash, score, normalized, points, personal_best, status, mode, day, at)
         select ${NEW_ID}, wallet, game_id, 1, id, '', 1, 1, 0, false, 'accepted', 'regular', 1, app_now() from plays where id = $1`,
      ),
      [used],
    ),
  );
  const old = await start();
  await t.app.tx((tx) =>
    tx.query(statement('test_age_play', `update plays set started_at = started_at - interval '31 minutes' where id = $1`), [old]),
  );
  const refusals: [Parameters<typeof failedUpgrade>[1], number, string][] = [
    [{ playId, cookie, headers: { Origin: 'https://evil.test' } }, 403, 'Origin must be the origin of this service or an allowed origin'],
    [{ playId, cookie, headers: { Origin: 'null' } }, 403, 'Origin must be the origin of this service or an allowed origin'],
    [{ playId, cookie, headers: { 'Sec-Fetch-Site': 'cross-site' } }, 403, 'Origin must be the origin of this service or an allowed origin'],
    [{ playId }, 401, 'a session is required, sign in first'],
    [{ playId, cookie: 'coinop.sid=made-up; coinop.sid.sig=made-up' }, 401, 'a session is required, sign in first'],
    [{ playId: '', cookie }, 400, 'playId is required and must be a UUID in lower case'],
    [{ playId: 'seven', cookie }, 400, 'playId is required and must be a UUID in lower case'],
    [{ playId, cookie, game: 'nowhere' }, 404, 'no such game'],
    [{ playId, cookie, game: 'gem-drop' }, 404, 'playId must name a play that you started in this game'],
    [{ playId: unused, cookie }, 404, 'playId must name a play that you started in this game'],
    [{ playId, cookie: stranger.cookie }, 404, 'playId must name a play that you started in this game'],
    [{ playId, cookie, game: 'a/b' }, 404, 'no such resource'],
    [
      { playId: await start(player, 'gem-drop'), cookie, game: 'gem-drop' },
      409,
      'the game does not verify scores by heartbeat, so its plays have no sessions',
    ],
    [{ playId: used, cookie }, 409, 'playId must name a play that has no score yet'],
    [{ playId: old, cookie }, 409, 'playId must name a play that is not over'],
  ];
  for (const [ask, status, error] of refusals) {
    expect(await failedUpgrade(api.url, ask)).toEqual({ status, type: 'application/json; charset=utf-8', body: { error } });
  }
});

test('a broken handshake is refused, and the client is recorded as its cause', async () => {
  const playId = await start();
  const Upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' };
  const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const asked = request(`${api.url}/game/star-raiders/session?playId=${playId}`, { headers: { ...Upgrade, Cookie: player.cookie } });
    asked.on('response', async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() });
    });
    asked.on('error', reject);
    asked.end();
  });
  expect(answer).toEqual({ status: 400, text: '{"error":"the WebSocket handshake must be valid: Missing or invalid Sec-WebSocket-Key header"}' });
  const known = () => t.app.redis.hmget(`${t.env.REDIS_PREFIX}:beats:${playId}`, 'left', 'count');
  while ((await known())[0] !== 'client') await realDelay(10);
  expect(await known()).toEqual(['client', '0']);
});

test('an upgrade requires exactly one Host header', async () => {
  const { port } = new URL(api.url);
  const head = (hosts: string) =>
    `GET /game/star-raiders/session HTTP/1.1\r\n${hosts}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
  for (const [hosts, status, error] of [
    ['Host: x\r\nHost: y\r\n', 400, 'Host must be given once'],
    ['', 400, 'Host is required'],
    ['Host: x\r\n', 401, 'a session is required, sign in first'],
  ] as const) {
    const answer = await sendRaw(Number(port), head(hosts), /\}$/);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(JSON.stringify({ error }));
  }
});

test('an upgrade to another protocol is ignored and the request is served', async () => {
  const status = await new Promise((resolve, reject) => {
    const asked = request(`${api.url}/config/games`, {
      headers: { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' },
    });
    asked.on('response', (response) => resolve(response.resume().statusCode));
    asked.on('error', reject);
    asked.end();
  });
  expect(status).toBe(200);
});

test('a message other than a heartbeat closes the session', async () => {
  for (const message of ['', 'garbage', '7', 'null', '{"type":"score"}', '{"type":"heartbeat","extra":1}', Buffer.from('{"type":"heartbeat"}')]) {
    const client = await open(await start());
    client.send(message);
    expect(await client.closed).toEqual({ code: 1008, reason: 'a message must be {"type":"heartbeat"}' });
  }
});

test('an oversize frame closes the session', async () => {
  const client = await open(await start());
  client.send(`{"type":"heartbeat"}${' '.repeat(300)}`);
  expect((await client.closed).code).toBe(1009);
});

test('too many messages or pings close the session', async () => {
  const client = await open(await start());
  for (let i = 0; i < 30; i++) client.send();
  expect(await client.closed).toEqual({ code: 1008, reason: 'too many messages' });
  const pinging = await open(await start());
  for (let i = 0; i < 30; i++) pinging.socket.ping();
  expect((await pinging.closed).code).toBe(1008);
});

test('twenty messages in ten seconds keep the session open', async () => {
  const client = await open(await start());
  for (let i = 0; i < 20; i++) client.send();
  await realDelay(150);
  expect(client.socket.readyState).toBe(client.socket.OPEN);
});

test('a silent session is closed', async () => {
  const client = await open(await start());
  await client.sendHeartbeat();
  const silentSince = performance.now();
  expect(await client.closed).toEqual({ code: 4008, reason: 'no heartbeat came' });
  expect(performance.now() - silentSince).toBeGreaterThan(1_400);
});

test('a session is closed when its play is over', async () => {
  // The wallet has no newer play, which would have ended this one.
  await sql(t.app, 'delete from plays where wallet = $1', [player.wallet]);
  const playId = await start();
  const shift = statement('test_shift_play', `update plays set started_at = app_now() - interval '30 minutes' + interval '300 ms' where id = $1`);
  await t.app.tx((tx) => tx.query(shift, [playId]));
  const client = await open(playId);
  await client.sendHeartbeat();
  await realDelay(400);
  client.send();
  expect(await client.closed).toEqual({ code: 1000, reason: 'the play is over' });
});

test('a second socket takes over the session and continues its count of heartbeats', async () => {
  const playId = await start();
  const first = await open(playId);
  await first.sendHeartbeat();
  await realDelay(150);
  const second = await open(playId);
  expect((await first.closed).code).toBe(4001);
  expect((await second.sendHeartbeat()).beats).toBe(2);
});

test('a second socket in another process takes over, and the first is closed at its next heartbeat', async () => {
  const other = await startApi(t.env);
  try {
    const playId = await start();
    const first = await open(playId);
    await first.sendHeartbeat();
    const second = await open(playId, {}, other.url);
    expect((await second.sendHeartbeat()).beats).toBe(2);
    await realDelay(150);
    first.send();
    expect((await first.closed).code).toBe(4001);
    expect((await second.sendHeartbeat()).beats).toBe(3);
  } finally {
    await other.close();
  }
});

test('while the service stops, open sessions close with 1012 and new ones get 503', async () => {
  const stopping = await startApi(t.env);
  try {
    const playId = await start();
    const client = await open(playId, {}, stopping.url);
    await stopping.stop();
    expect((await client.closed).code).toBe(1012);
    expect(await failedUpgrade(stopping.url, { playId, cookie: player.cookie })).toMatchObject({ status: 503 });
    expect((await (await open(playId)).sendHeartbeat()).beats).toBe(1);
  } finally {
    await stopping.close();
  }
});
