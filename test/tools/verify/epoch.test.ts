import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newSigner } from '#platform/solana/primitives.ts';
import { DAY, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
/** Changes that a falsifying service makes to the true responses. */
interface Falsification {
  epoch?: (text: string) => string;
  leaves?: (lines: string[]) => string[];
}

beforeAll(async () => {
  t = await startRewardsTest();
  await setRules(t, { pool: '1000000', cap: '60000', dust: '300', automatic: false });
  const given = Array.from({ length: 90 }, (_, i) => ({ wallet: randomWallet(), points: 1 + ((i * 7919) % 600) + (i === 5 ? 9_000 : 0) }));
  await insertClosedDay(t.app, DAY, given);
  expect((await trigger(t, DAY)).status).toBe(201);
  await untilEpoch(t, DAY, 'committed');
});
afterAll(() => t.close());

/** Runs bin/verify-epoch against a service that falsifies responses. */
async function verify(lie: Falsification, ...options: string[]): Promise<{ code: number; out: string; err: string }> {
  const service = createServer(async (request, response) => {
    const answer = await send(t, request.url ?? '/');
    const text = await answer.text();
    const isLeaves = request.url?.endsWith('/leaves') === true;
    const body = isLeaves ? `${(lie.leaves?.(text.trimEnd().split('\n')) ?? [text.trimEnd()]).join('\n')}\n` : (lie.epoch?.(text) ?? text);
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(body);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const command = join(import.meta.dirname, '../../../bin/verify-epoch');
  try {
    return await new Promise((resolve) => {
      execFile(command, [url, String(DAY), '--rpc', t.chain.localnet.url, ...options], (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
      });
    });
  } finally {
    service.close();
  }
}

/** Changes one line of the leaves; line 0 is the header. */
const line =
  (number: number, change: (line: { index: number; wallet: string; points: number; amount: string }) => object | null) => (lines: string[]) =>
    lines.flatMap((text, i) => {
      if (i !== number) return [text];
      const changed = change(JSON.parse(text));
      return changed === null ? [] : [JSON.stringify(changed)];
    });
/** Changes fields of the epoch, and of the first line of the leaves. */
const epochWith = (change: object) => (text: string) => JSON.stringify({ ...JSON.parse(text), ...change });
const both = (change: object): Falsification => ({
  epoch: epochWith(change),
  leaves: ([first = '', ...rest]) => [JSON.stringify({ ...JSON.parse(first), ...change }), ...rest],
});
const onChain = (change: object) => (text: string) => {
  const epoch = JSON.parse(text);
  return JSON.stringify({ ...epoch, onChain: { ...epoch.onChain, ...change } });
};
const other = newSigner().publicKey.toBase58();

test('a true epoch is verified, without and with pinned addresses', async () => {
  const { program, epochAuthority, rewardMint } = t.chain.keys;
  const result = await verify({});
  expect([result.code, result.err]).toEqual([0, '']);
  expect(result.out).toMatch(/90 wallets, \d+ leaves.*\namounts: recomputed.*\nroot: [0-9a-f]{64}\non the chain: .*open; 0 of \d+ claimed/);
  const keys = { program, authority: epochAuthority, mint: rewardMint };
  const pins = Object.entries(keys).flatMap(([name, key]) => [`--${name}`, key.publicKey.toBase58()]);
  expect(await verify({}, ...pins)).toMatchObject({ code: 0 });
});

const HASH = 'ab'.repeat(32);
const FALSIFICATIONS: Readonly<Record<string, readonly [lie: Falsification, named: RegExp]>> = {
  'an amount': [
    { leaves: line(3, (leaf) => ({ ...leaf, amount: String(BigInt(leaf.amount) + 1n) })) },
    /the amount of \w+ is \d+, but should be \d+/,
  ],
  points: [{ leaves: line(3, (leaf) => ({ ...leaf, points: leaf.points + 5 })) }, /points is \d+, but should be \d+/],
  'the root': [both({ root: HASH }), /root is (?:ab){32}, but should be [0-9a-f]{64}/],
  'the root of the epoch alone': [{ epoch: epochWith({ root: HASH }) }, /root in the first line of the leaves/],
  'the total': [both({ total: '5' }), /total is 5, but should be \d+/],
  'the undistributed amount': [both({ undistributed: '1' }), /undistributed is 1, but should be \d+/],
  'a missing leaf': [{ leaves: line(3, () => null) }, /the number of leaves is \d+, but should be \d+/],
  'a duplicate leaf': [{ leaves: (lines) => [...lines, lines[1] ?? ''] }, /the number of leaves is/],
  'another order': [{ leaves: ([first = '', a = '', b = '', ...rest]) => [first, b, a, ...rest] }, /the index in line 2 of the leaves is 1/],
  'another wallet': [{ leaves: line(3, (leaf) => ({ ...leaf, wallet: other })) }, /root|the amount of/],
  'the pool': [both({ pool: '2000000' }), /the amount of \w+|undistributed/],
  'a negative amount': [{ leaves: line(3, (leaf) => ({ ...leaf, amount: '-5' })) }, /line 4 of the leaves: amount is "-5"/],
  'a body that is not JSON': [{ epoch: () => '<html>' }, /is not JSON/],
  'the account': [{ epoch: onChain({ account: other }) }, /the address of the epoch/],
  'the authority': [{ epoch: onChain({ authority: other }) }, /the address of the epoch/],
  'a claimed amount that is too large': [{ epoch: onChain({ claimed: '7' }) }, /0 is claimed; the service reports 7/],
  'the expiry': [{ epoch: epochWith({ expiresAt: '2030-01-01T00:00:00.000Z' }) }, /the expiry is \d+/],
  'the status': [{ epoch: epochWith({ status: 'settled' }) }, /the epoch is open; the service reports settled/],
  'a missing account': [{ epoch: epochWith({ onChain: null }) }, /the field onChain is null/],
};
test('every falsified field is found and named', async () => {
  const missed: string[] = [];
  const next = Object.entries(FALSIFICATIONS).values();
  const check = async () => {
    for (const [what, [lie, named]] of next) {
      const { code, err } = await verify(lie);
      if (code !== 1 || !named.test(err)) missed.push(`${what}: ${code} ${err}`);
    }
  };
  await Promise.all([check(), check(), check()]);
  expect(missed).toEqual([]);
}, 60_000);

test('a pinned program, authority or mint that differs fails the verification', async () => {
  for (const name of ['program', 'authority', 'mint']) {
    const { code, err } = await verify({}, `--${name}`, other);
    expect([code, err]).toEqual([1, expect.stringMatching(new RegExp(`the ${name} is \\w+, not ${other}`))]);
  }
});

test('an unreachable RPC node gives exit status 2', async () => {
  expect(await verify({}, '--rpc', 'http://127.0.0.1:1')).toMatchObject({ code: 2, err: expect.stringMatching(/could not be checked/) });
});
