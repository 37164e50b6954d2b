import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { judgeHeartbeats } from '#areas/arcade';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { pause, SessionClient } from '#test/support/http/heartbeat.ts';
import { bodyOf } from '#test/support/http/json.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let player: SignedIn;
const processes: ChildProcess[] = [];
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  player = await signIn(t);
});
afterEach(() => {
  for (const child of processes.splice(0)) child.kill('SIGKILL');
});
afterAll(() => t.close());

const Ready = z.object({ msg: z.literal('api is ready'), address: z.object({ port: z.int() }) });

/** Starts the API as an operator does. */
async function startProcess(): Promise<{ child: ChildProcess; url: string }> {
  const env = { ...process.env, ...t.env, HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, ['src/server.ts'], {
    cwd: join(import.meta.dirname, '../../..'),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  for await (const line of createInterface(child.stdout)) {
    const ready = Ready.safeParse(JSON.parse(line));
    if (!ready.success) continue;
    const url = `http://127.0.0.1:${ready.data.address.port}`;
    // It listens before it has reached its dependencies.
    while ((await fetch(`${url}/readyz`)).status !== 200) await pause(10);
    return { child, url };
  }
  throw new Error('the API ended before it was ready');
}

async function begin(url: string) {
  const { playId, startedAt } = await bodyOf(player.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt);
  const client = await SessionClient.open(url, { playId, cookie: player.cookie });
  await client.beat();
  return { client, playId, startedAt: new Date(startedAt) };
}

/** The verdict on a score that comes 20 s from now, with nothing heard meanwhile. */
async function judge({ playId, startedAt }: { playId: string; startedAt: Date }) {
  return (await judgeHeartbeats(t.app, [{ playId, startedAt, endedAt: new Date(Date.now() + 20_000) }]))[0]?.verdict;
}

test('a client that leaves a running service is refused', async () => {
  const { url } = await startProcess();
  const play = await begin(url);
  await play.client.leave();
  while ((await t.app.redis.hget(`${t.env.REDIS_PREFIX}:beats:${play.playId}`, 'left')) !== 'client') await pause(10);
  expect(await judge(play)).toBe('refused');
});

test('a service that is told to stop sends its clients elsewhere, ends in order, and their scores are held', async () => {
  const { child, url } = await startProcess();
  const play = await begin(url);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect((await play.client.closed).code).toBe(1012);
  expect(await exited).toEqual([0, null]);
  expect(await judge(play)).toBe('held');
});

test('a service that is killed leaves nothing written, and the scores of its clients are held', async () => {
  const { child, url } = await startProcess();
  const play = await begin(url);
  child.kill('SIGKILL');
  await play.client.closed;
  expect(await judge(play)).toBe('held');
});
