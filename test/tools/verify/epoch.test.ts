import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { postSettledOffChain } from '#areas/rewards/routes/settlement.ts';
import { ProofView } from '#areas/rewards/schemas.ts';
import { buildTree, hashLeaves, rootOf } from '#lib/merkle.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { asAdmin, DAY, epochOf, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { adminOf } from '#test/support/http/client.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { claimAsStranger, leafOf, newClaimant, type RewardsTest, startRewardsTest, type TestEpoch, untilEpoch } from '#test/support/solana/claims.ts';
import { type Falsification, hashOfLines, verifyEpoch, withHouse } from '#test/support/verify/dishonest-house.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;

beforeAll(async () => {
  t = await startRewardsTest();
  await setRules(t, { pool: '1000000', cap: '60000', dust: '300', automatic: false });
  const given = Array.from({ length: 90 }, (_, i) => ({ wallet: randomWallet(), points: 1 + ((i * 7919) % 600) + (i === 5 ? 9_000 : 0) }));
  await insertClosedDay(t.app, DAY, given);
  expect((await trigger(t, DAY)).status).toBe(201);
  await untilEpoch(t, DAY, 'committed');
});
afterAll(() => t.close());

/** Reads a true document from the service. */
async function readDocument(path: string) {
  const response = await send(t, path);
  return { status: response.status, text: await response.text() };
}
/** Runs bin/verify-epoch against a house that falsifies documents. */
const verify = (lie: Falsification, ...options: string[]) => verifyOf(DAY, lie, ...options);
const verifyOf = (epoch: number, lie: Falsification, ...options: string[]) =>
  withHouse(readDocument, lie, (house) => verifyEpoch(house, epoch, t.chain.localnet.url, ...options));

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
  expect(result.out).toMatch(
    /90 wallets, \d+ leaves.*\namounts: recomputed.*\nroot: [0-9a-f]{64}\npoints: 90 wallets, \d+ points by source.*\non the chain: .*open; 0 of \d+ claimed\nclaims: 0 leaves.*\nvault: it holds \d+/,
  );
  expect(result.out).toMatch(/program: \w+ is known, and nobody can replace it\nmemo: the chain holds the hash of the points file/);
  expect(result.out).toContain(
    'Taken on the service’s word:\n  that each wallet earned its points from the sources in the points file\n  that the rules of version 1 were in force\n  the address of the program,',
  );
  const keys = { program, authority: epochAuthority, mint: rewardMint };
  const pins = Object.entries(keys).flatMap(([name, key]) => [`--${name}`, key.publicKey.toBase58()]);
  const pinned = await verify({}, ...pins);
  expect([pinned.code, pinned.out]).toEqual([0, expect.not.stringContaining('the address of the')]);
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
  'more claims than the pages mark': [{ epoch: onChain({ claims: 1 }) }, /0 claims are marked; the service reports 1/],
  'an expiry that did not pass': [{ epoch: epochWith({ status: 'expired' }) }, /the service reports expired, but claims are possible until/],
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

/** Formula 1 without cap and dust: the pool divided by points, with the remaining units for the largest remainders. */
function divided(pool: bigint, points: readonly bigint[]): bigint[] {
  const total = points.reduce((sum, own) => sum + own, 0n);
  const amounts = points.map((own) => (pool * own) / total);
  const left = Number(pool - amounts.reduce((sum, amount) => sum + amount, 0n));
  const byRemainder = points.map((own, i) => ({ i, remainder: (pool * own) % total })).sort((a, b) => Number(b.remainder - a.remainder) || a.i - b.i);
  for (const { i } of byRemainder.slice(0, left)) amounts[i] = (amounts[i] ?? 0n) + 1n;
  return amounts;
}

test('points that change after the commit contradict the root on the chain, also when the service computes everything again', async () => {
  const wallets = Array.from({ length: 5 }, randomWallet).sort();
  const epoch = DAY + 1;
  await setRules(t, { pool: '1000000', cap: null, dust: '0', automatic: false });
  await insertClosedDay(
    t.app,
    epoch,
    wallets.map((wallet, i) => ({ wallet, points: 10 * (i + 1) })),
  );
  expect((await trigger(t, epoch)).status).toBe(201);
  await untilEpoch(t, epoch, 'committed');
  expect((await verifyOf(epoch, {})).code).toBe(0);

  const changed = wallets.map((_, i) => BigInt(10 * (i + 1) + (i === 2 ? 100 : 0)));
  const amounts = divided(1_000_000n, changed);
  const hashes = new Uint8Array(32 * wallets.length);
  hashLeaves(epoch, 0, Buffer.concat(wallets.map((wallet) => bs58.decode(wallet))), BigUint64Array.from(amounts), hashes);
  const sums = { points: Number(changed.reduce((sum, own) => sum + own, 0n)), root: Buffer.from(rootOf(buildTree(hashes))).toString('hex') };
  const [trueHeader = ''] = (await readDocument(`/api/rewards/epoch/${epoch}/points`)).text.split('\n');
  const points = [
    JSON.stringify({ ...JSON.parse(trueHeader), points: sums.points }),
    ...wallets.map((wallet, i) => JSON.stringify({ wallet, points: Number(changed[i]), sources: { 'quest:quest': Number(changed[i]) } })),
  ];
  const lie: Falsification = {
    epoch: epochWith({ ...sums, pointsHash: hashOfLines(points) }),
    points: () => points,
    leaves: ([header = '']) => [
      JSON.stringify({ ...JSON.parse(header), ...sums }),
      ...wallets.map((wallet, index) => JSON.stringify({ index, wallet, points: Number(changed[index]), amount: String(amounts[index]) })),
    ],
  };
  expect(await verifyOf(epoch, lie)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/on the chain, the root is [0-9a-f]{64}; the service reports/),
  });
}, 60_000);

/** Computes an epoch from points and waits until it is on the chain. */
async function openComputed(epoch: number, given: readonly { wallet: string; points: number }[]): Promise<TestEpoch> {
  await insertClosedDay(t.app, epoch, given);
  expect((await trigger(t, epoch)).status).toBe(201);
  await untilEpoch(t, epoch, 'committed');
  const { total, root } = await epochOf(t, epoch);
  const leaves = given.map(async ({ wallet }) => {
    const leaf = await jsonOf(send(t, `/api/rewards/epoch/${epoch}/proof/${wallet}`), ProofView);
    return { ...leaf, amount: BigInt(leaf.amount) };
  });
  return { epoch, total: BigInt(total ?? 0), root: root ?? '', leaves: await Promise.all(leaves) };
}

test('claims of strangers are counted, and a settled epoch stays verifiable after its accounts are closed', async () => {
  const players = await Promise.all([newClaimant(t), newClaimant(t), newClaimant(t)]);
  const [first, second] = players;
  if (!first || !second) throw new Error('there are no players');
  await setRules(t, { pool: '60', cap: null, dust: '0', automatic: false });
  const given = players.map(({ wallet }) => ({ wallet, points: 5 }));
  const epoch = await openComputed(DAY + 3, given);
  await claimAsStranger(t, epoch, [leafOf(epoch, first.wallet), leafOf(epoch, second.wallet)]);
  await retryUntilPass(async () => {
    const { code, out } = await verifyOf(epoch.epoch, {});
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/open; 40 of 60 claimed\nclaims: 2 leaves are marked as paid, and their sum is the claimed amount/),
    ]);
  });
  expect((await adminOf(t).call(postSettledOffChain, { body: { epochs: [epoch.epoch] } })).status).toBe(202);
  await retryUntilPass(async () => {
    const { code, out } = await verifyOf(epoch.epoch, {});
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/closed; 40 of 60 claimed\nvault: the unclaimed tokens went(.|\n)*which leaves were claimed: the epoch is closed/),
    ]);
  });
}, 60_000);

test('an import is named as such, and an epoch that is being computed cannot be checked', async () => {
  const epoch = DAY + 2;
  const imported = await asAdmin(t, '/api/rewards/epoch/import', { json: { epoch, distribution: [{ wallet: randomWallet(), amount: '50' }] } });
  expect(imported.ok).toBe(true);
  await untilEpoch(t, epoch, 'committed');
  const { code, out } = await verifyOf(epoch, {});
  expect([code, out]).toEqual([0, expect.stringContaining('amounts: imported, not computed from points; total 50 ')]);
  expect(out).toContain('\nmemo: the epoch was imported\n');
  expect(out).toContain('\n  all amounts: an operator imported them\n');
  const computing = epochWith({
    status: 'computing',
    leaves: null,
    wallets: null,
    total: null,
    undistributed: null,
    root: null,
    points: null,
    onChain: null,
  });
  expect(await verifyOf(epoch, { epoch: computing })).toMatchObject({
    code: 2,
    err: expect.stringContaining('the service is still computing it'),
  });
}, 60_000);
