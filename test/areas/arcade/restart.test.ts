import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { evaluateHeartbeats } from '#areas/arcade';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { realDelay, SessionClient } from '#test/support/http/heartbeat.ts';
import { jsonOf } from '#test/support/http/json.ts';
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

/** Starts the API as a child process, with the operator's command. */
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
    // Waits for readiness, because the process listens before its dependencies are connected.
    while ((await fetch(`${url}/readyz`)).status !== 200) await realDelay(10);
    return { child, url };
  }
  throw new Error('the API ended before it was ready');
}

async function begin(url: string) {
  const { playId, startedAt } = await jsonOf(player.fetch('/game/star-raiders/play', { method: 'POST' }), PlayReceipt);
  const client = await SessionClient.open(url, { playId, cookie: player.cookie });
  await client.sendHeartbeat();
  return { client, playId, startedAt: new Date(startedAt) };
}

/** Returns the verdict on a score that is submitted 20 s from now, without further heartbeats. */
async function evaluate({ playId, startedAt }: { playId: string; startedAt: Date }) {
  return (await evaluateHeartbeats(t.app, [{ playId, startedAt, endedAt: new Date(Date.now() + 20_000) }]))[0]?.verdict;
}

test('a score is refused if its client leaves while the service runs', async () => {
  const { url } = await startProcess();
  const play = await begin(url);
  await play.client.leave();
  while ((await t.app.redis.hget(`${t.env.REDIS_PREFIX}:beats:${play.playId}`, 'left')) !== 'client') await realDelay(10);
  expect(await evaluate(play)).toBe('refused');
});

test('on SIGTERM the service closes sessions with 1012 and exits cleanly, and scores with a later silence are held', async () => {
  const { child, url } = await startProcess();
  const play = await begin(url);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect((await play.client.closed).code).toBe(1012);
  expect(await exited).toEqual([0, null]);
  expect(await evaluate(play)).toBe('held');
});

test('on SIGKILL the service records no cause, and scores with a later silence are held', async () => {
  const { child, url } = await startProcess();
  const play = await begin(url);
  child.kill('SIGKILL');
  await play.client.closed;
  expect(await evaluate(play)).toBe('held');
});
