import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { playAsBot } from '#games/block-cascade/bot.ts';
import { writeInputLog } from '#lib/replay/input-log.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { submitScore } from '#test/support/areas/arcade.ts';
import { send, signIn } from '#test/support/wallet.ts';
import { buildModule } from '#test/support/wasm.ts';
import { runVerifyScore } from '#tools/verify/score-command.ts';

let t: TestApp;
let proxy: Server;
let scoreId: string;
/** Changes an answer of the service, as a dishonest house does. */
let lie: (path: string, body: Buffer) => Buffer | null = (_path, body) => body;
const source = 'games/block-cascade/block-cascade.wasm';

beforeAll(async () => {
  t = await startTestApp();
  const player = await signIn(t);
  const play = (await (await player.fetch('/game/block-cascade/play', { method: 'POST' })).json()) as { playId: string; seed: string };
  const { score, log } = playAsBot(new WebAssembly.Module(new Uint8Array(await readFile(source))), Buffer.from(play.seed, 'hex'), { maxTicks: 60 });
  const { body } = await submitScore(player, { gameId: 'block-cascade', playId: play.playId, score, replay: Buffer.from(log).toString('base64') });
  scoreId = body.scoreId;
  proxy = createServer(async (request, response) => {
    const answer = await send(t, request.url ?? '/');
    const changed = lie(request.url ?? '/', Buffer.from(await answer.arrayBuffer()));
    response.writeHead(changed === null ? 404 : answer.status).end(changed);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.close();
  await t.close();
});

/** Runs bin/verify-score against the proxy. Returns the exit status and the printed lines. */
async function verify(...args: string[]): Promise<{ code: number; out: string }> {
  const lines: string[] = [];
  const house = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const print = (line: string) => void lines.push(line);
  return { code: await runVerifyScore(args.length > 0 ? args : [house, scoreId], { print, printError: print, env: {} }), out: lines.join('\n') };
}

/** Answers as a house that changes fields of the replay. */
async function withReplay(change: (replay: Record<string, unknown>) => Record<string, unknown>): Promise<{ code: number; out: string }> {
  lie = (path, body) =>
    path.endsWith('/replay') ? Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ...change(JSON.parse(body.toString())) })) : body;
  try {
    return await verify();
  } finally {
    lie = (_path, body) => body;
  }
}

describe('bin/verify-score', () => {
  test('says true about a score whose replay gives it, and lists the values that only the house says', async () => {
    const { code, out } = await verify();
    expect(code).toBe(0);
    expect(out).toContain(`score ${scoreId}: true`);
    expect(out).toContain('that the seed was random and unknown before the play');
    expect(out).toContain('that the game is played with the simulation');
  });

  test('compares the simulation with the source that the player has', async () => {
    const house = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const own = await verify(house, scoreId, '--source', source);
    expect([own.code, own.out.includes('played with the simulation')]).toEqual([0, false]);
    const folder = await mkdtemp(join(tmpdir(), 'coinop-other-'));
    const other = join(folder, 'other.wasm');
    await writeFile(other, buildModule());
    expect(await verify(house, scoreId, '--source', other)).toMatchObject({ code: 1, out: expect.stringContaining('not the metered form') });
    expect(await verify(house, scoreId, '--simulation', '0'.repeat(64))).toMatchObject({ code: 1 });
    await rm(folder, { recursive: true });
  });

  test('says false when the house changes the score, the seed, the log or the limits', async () => {
    const lies: [Parameters<typeof withReplay>[0], RegExp][] = [
      [({ score }) => ({ score: Number(score) + 1 }), /the replay has the score \d+, but the house says/],
      [() => ({ log: Buffer.from(writeInputLog([16, 0, 16])).toString('base64') }), /FALSE +score/],
      [() => ({ log: 'AQA=' }), /FALSE +replay +the log ends within a span/],
      [({ simulation }) => ({ simulation: { ...(simulation as object), maxTicks: 1 } }), /too_many_ticks/],
      [({ simulation }) => ({ simulation: { ...(simulation as object), instructionsPerTick: 1 } }), /too_many_instructions/],
      [() => ({ scoreId: 'another' }), /the replay of another score/],
      [() => ({ seed: 'short' }), /not a replay/],
    ];
    for (const [change, message] of lies) {
      const { code, out } = await withReplay(change);
      expect(out).toMatch(message);
      expect(code).toBe(1);
    }
  });

  test('says false when the bytes of the simulation are other ones', async () => {
    lie = (path, body) => (path.startsWith('/arcade/simulation/') ? Buffer.from(buildModule()) : body);
    expect(await verify()).toMatchObject({ code: 1, out: expect.stringContaining('do not have its hash') });
    lie = (path, body) => (path.startsWith('/arcade/simulation/') ? null : body);
    expect(await verify()).toMatchObject({ code: 1, out: expect.stringContaining('it answers 404') });
    lie = (_path, body) => body;
  });

  test('says that a score cannot be checked when the house has no replay or does not answer, and for a wrong command line', async () => {
    lie = (path, body) => (path.endsWith('/replay') ? null : body);
    expect(await verify()).toMatchObject({ code: 2, out: expect.stringContaining('the house has no replay of this score') });
    lie = (_path, body) => body;
    expect((await verify('http://127.0.0.1:1', scoreId)).code).toBe(2);
    expect((await verify('nonsense', scoreId)).code).toBe(2);
    expect((await verify('http://127.0.0.1:1')).code).toBe(2);
    expect((await verify('http://127.0.0.1:1', scoreId, '--unknown')).code).toBe(2);
  });
});
