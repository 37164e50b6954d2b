import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { buildTree, hashLeaves, rootOf } from '#lib/merkle.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { asAdmin, DAY, epochOf, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { openEpoch, type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';
import { type Falsification, hashOfLines, verifyEpoch, verifyEpochInPython, withHouse } from '#test/support/verify/dishonest-house.ts';
import { send } from '#test/support/wallet.ts';

/** Epochs: one that was computed from points, an import, and one whose transaction on the chain has no memo. */
const [COMPUTED, IMPORTED, WITHOUT_MEMO] = [DAY, DAY + 1, DAY + 2];
const WALLETS = 6;

let t: RewardsTest;
let paths: { computed: string; imported: string; withoutMemo: string };
beforeAll(async () => {
  t = await startRewardsTest();
  await setRules(t, { pool: '1000000', cap: '400000', dust: '300', automatic: false });
  const given = Array.from({ length: WALLETS }, (_, i) => ({ wallet: randomWallet(), points: 10 * (i + 1) }));
  await insertClosedDay(t.app, COMPUTED, given);
  expect((await trigger(t, COMPUTED)).status).toBe(201);
  await asAdmin(t, '/api/rewards/epoch/import', { json: { epoch: IMPORTED, distribution: [{ wallet: randomWallet(), amount: '500' }] } });
  await openEpoch(t, WITHOUT_MEMO, [[randomWallet(), 700n]]);
  for (const epoch of [COMPUTED, IMPORTED]) await untilEpoch(t, epoch, 'committed');
  const [computed, imported, withoutMemo] = [COMPUTED, IMPORTED, WITHOUT_MEMO].map((epoch) => `/api/rewards/epoch/${epoch}`);
  paths = { computed: computed ?? '', imported: imported ?? '', withoutMemo: withoutMemo ?? '' };
});
afterAll(() => t.close());

async function readDocument(path: string) {
  const response = await send(t, path);
  return { status: response.status, text: await response.text() };
}
const linesOf = async (path: string) => (await readDocument(path)).text.trimEnd().split('\n');

/** Verifies an epoch with both verifiers. Returns the exit status of each, and the output of bin/verify-epoch. */
const verdicts = (epoch: number, lie: Falsification) =>
  withHouse(readDocument, lie, async (house) => {
    const rpc = t.chain.localnet.url;
    const [own, other] = await Promise.all([verifyEpoch(house, epoch, rpc), verifyEpochInPython(house, epoch, rpc)]);
    return { codes: [own.code, other.code], text: `${own.out}${own.err}`, other: `${other.out}${other.err}` };
  });

const changed = (change: object) => (text: string) => JSON.stringify({ ...JSON.parse(text), ...change });
/** Changes one line of a file; line 0 is the first line. */
const line = (number: number, change: object | null) => (lines: string[]) =>
  lines.flatMap((text, i) => (i !== number ? [text] : change === null ? [] : [JSON.stringify({ ...JSON.parse(text), ...change })]));

/** Changes the points file and names the hash of the changed file, as a house does that changes the points after the commitment. */
async function consistently(change: (lines: string[]) => string[]): Promise<Falsification> {
  const lines = change(await linesOf(`${paths.computed}/points`));
  return { points: () => lines, epoch: changed({ pointsHash: hashOfLines(lines) }) };
}

test('an honest house is verified by both verifiers, from its points to the memo on the chain', async () => {
  const { codes, text } = await verdicts(COMPUTED, {});
  expect(codes).toEqual([0, 0]);
  expect(text).toMatch(/points: 6 wallets, 210 points by source, equal to the leaves; rules: version 1/);
  expect(text).toContain('memo: the chain holds the hash of the points file');
  expect(text).toContain('Taken on the service’s word:\n  that each wallet earned its points from the sources in the points file\n');
});

test('an import is named as an import, in the document and in the memo', async () => {
  const { codes, text } = await verdicts(IMPORTED, {});
  expect(codes).toEqual([0, 0]);
  expect(text).toMatch(
    /amounts: imported, not computed from points(.|\n)*memo: the epoch was imported\n(.|\n)*all amounts: an operator imported them/,
  );
});

type Lie = readonly [epoch: number, lie: () => Falsification | Promise<Falsification>, named: RegExp];
const moved = { points: 10, sources: { 'quest:quest': 10 } };
const OTHER = 'ab'.repeat(32);
const LIES: Readonly<Record<string, Lie>> = {
  'sources that change after the commitment': [
    COMPUTED,
    async () => {
      const [, first = ''] = await linesOf(`${paths.computed}/points`);
      return await consistently(line(1, { sources: { 'adjustment:adjustment': JSON.parse(first).points } }));
    },
    /the memo is coinop:epoch:\d+:points:[0-9a-f]{64}:\d+, but should be coinop:epoch:/,
  ],
  'a points file that is not the published one': [
    COMPUTED,
    () => ({ points: (lines) => [...lines.slice(0, -1), ` ${lines.at(-1)}`] }),
    /the hash of the points file is/,
  ],
  'a hash that is not that of the file': [COMPUTED, () => ({ epoch: changed({ pointsHash: OTHER }) }), /the hash of the points file is/],
  'sources whose sum differs from the points': [
    COMPUTED,
    () => consistently(line(2, { sources: { 'quest:quest': 7 } })),
    /line 3 of the points file: the sources of \w+ have the sum 7/,
  ],
  'a source that is not a number': [
    COMPUTED,
    () => consistently(line(2, { sources: { 'quest:quest': '7' } })),
    /line 3 of the points file is not valid/,
  ],
  'points that differ from the leaves': [COMPUTED, () => consistently(line(2, { points: 1, sources: { a: 1 } })), /the points of \w+ in the leaves/],
  'a wallet that is missing in the points file': [COMPUTED, () => consistently(line(2, null)), /is in the leaves, but not in|number of wallets/],
  'a wallet that is missing in the leaves': [
    COMPUTED,
    () => consistently((lines) => [...lines, JSON.stringify({ wallet: 'zzzz', ...moved })]),
    /wallet zzzz has 10 points, but it has no line in the leaves and is not excluded/,
  ],
  'wallets in another order': [
    COMPUTED,
    () => consistently(([first = '', a = '', b = '', ...rest]) => [first, b, a, ...rest]),
    /not in ascending order/,
  ],
  'the rules in the points file': [COMPUTED, () => consistently(line(0, { dust: '1' })), /dust in the first line of the points file/],
  'another version of the rules': [COMPUTED, () => ({ epoch: changed({ rulesVersion: 0 }) }), /pool of the epoch|cap of the epoch|dust of the epoch/],
  'rules that differ from those of the epoch': [
    COMPUTED,
    () => ({ rules: changed({ cap: null }) }),
    /cap of the epoch is 400000, but should be null/,
  ],
  'the rules of another version': [COMPUTED, () => ({ rules: changed({ version: 7 }) }), /version of the published rules/],
  'an excluded wallet that has a leaf': [
    COMPUTED,
    async () => {
      const [, first = ''] = await linesOf(`${paths.computed}/points`);
      return { files: { [`${paths.computed}/exclusions`]: JSON.stringify([{ wallet: JSON.parse(first).wallet, reason: 'a bot' }]) } };
    },
    /is excluded, but has a leaf/,
  ],
  'the transaction of another epoch': [
    COMPUTED,
    async () => ({ epoch: changed({ commitSignature: (await epochOf(t, IMPORTED)).commitSignature }) }),
    /the transaction \w+ did not open the epoch/,
  ],
  'a points file that is withheld although the memo names one': [
    COMPUTED,
    () => ({ epoch: changed({ pointsHash: null }) }),
    /the service publishes no points file, but the memo is/,
  ],
  'a computed epoch that is called an import': [
    COMPUTED,
    () => ({ epoch: changed({ source: 'import', points: null, pointsHash: null }), leaves: line(0, { source: 'import', points: null }) }),
    /the memo is .*, but should be coinop:epoch:\d+:import/,
  ],
  'an import with a points file': [IMPORTED, () => ({ epoch: changed({ pointsHash: OTHER }) }), /was imported, but the service names a points file/],
  'a points file that no memo names': [
    WITHOUT_MEMO,
    async () => {
      const { rulesVersion } = await epochOf(t, COMPUTED);
      const { epoch, formulaVersion, pool, cap, dust, wallets, points } = await epochOf(t, WITHOUT_MEMO);
      const [, leaf = ''] = await linesOf(`${paths.withoutMemo}/leaves`);
      const header = { type: 'coinop/points/1', epoch, formulaVersion, rulesVersion, pool, cap, dust, wallets, points };
      const lines = [header, { wallet: JSON.parse(leaf).wallet, points, sources: { 'quest:quest': points } }].map((one) => JSON.stringify(one));
      return {
        epoch: changed({ pointsHash: hashOfLines(lines), rulesVersion }),
        rules: changed({ pool, cap, dust }),
        files: { [`${paths.withoutMemo}/points`]: `${lines.join('\n')}\n` },
      };
    },
    /no memo holds the hash of the points file/,
  ],
};

test('every lie about points, rules, exclusions and the memo is found by both verifiers, and named', async () => {
  const missed: Record<string, unknown> = {};
  for (const [name, [epoch, lie, named]] of Object.entries(LIES)) {
    const { codes, text, other } = await verdicts(epoch, await lie());
    if (String(codes) !== '1,1' || !named.test(text)) missed[name] = { codes, text, other };
  }
  expect(missed).toEqual({});
}, 120_000);

test('an epoch whose points cannot be read, or that no memo states, cannot be checked', async () => {
  const cases: readonly (readonly [number, Falsification, RegExp])[] = [
    [WITHOUT_MEMO, {}, /publishes no points file of this epoch; no memo on the chain holds the hash/],
    [COMPUTED, { epoch: changed({ commitSignature: '1'.repeat(64) }) }, /does not show the transaction that opened the epoch/],
  ];
  for (const [epoch, lie, named] of cases) {
    const { codes, text } = await verdicts(epoch, lie);
    expect({ codes, text }).toEqual({ codes: [2, 2], text: expect.stringMatching(named) });
  }
});

test('the transaction that opened an epoch is found in the history of its account when the service does not know it', async () => {
  const { codes, text } = await verdicts(COMPUTED, { epoch: changed({ commitSignature: null }) });
  expect([codes, text]).toEqual([[0, 0], expect.stringContaining('memo: the chain holds the hash')]);
});

test('an excluded wallet is shown with its reason, and its points are in the points file but not in the leaves', async () => {
  const [, ...points] = (await linesOf(`${paths.computed}/points`)).map((text) => JSON.parse(text));
  const kept = points.slice(1);
  const epoch = await epochOf(t, COMPUTED);
  const total = kept.reduce((sum, { points: own }) => sum + own, 0);
  const pool = String(total);
  const rules = { pool, cap: null, dust: '0' };
  // The pool is the sum of the points, so each wallet gets as many base units as it has points.
  const amounts = BigUint64Array.from(kept, ({ points: own }) => BigInt(own));
  const hashes = new Uint8Array(32 * kept.length);
  hashLeaves(COMPUTED, 0, Buffer.concat(kept.map(({ wallet }) => decodeBase58(wallet) ?? Buffer.alloc(0))), amounts, hashes);
  const root = Buffer.from(rootOf(buildTree(hashes))).toString('hex');
  const header = { ...epoch, ...rules, wallets: kept.length, leaves: kept.length, points: total, total: pool, undistributed: '0', root };
  const file = [
    { ...rules, type: 'coinop/points/1', epoch: COMPUTED, formulaVersion: 1, rulesVersion: 1, wallets: WALLETS, points: total + points[0].points },
    ...points,
  ].map((one) => JSON.stringify(one));
  const review = { status: 'computed', onChain: null, commitSignature: null, reviewEndsAt: '2030-01-01T00:00:00.000Z' };
  const document = { ...header, ...review, pointsHash: hashOfLines(file) };
  const leaves = [header, ...kept.map(({ wallet, points: own }, index) => ({ index, wallet, points: own, amount: String(own) }))];
  const files = {
    [paths.computed]: JSON.stringify(document),
    [`${paths.computed}/leaves`]: leaves.map((one) => `${JSON.stringify(one)}\n`).join(''),
    [`${paths.computed}/points`]: file.map((text) => `${text}\n`).join(''),
    [`${paths.computed}/exclusions`]: JSON.stringify([{ wallet: points[0].wallet, reason: 'a bot', at: '2026-11-20T00:00:00.000Z', by: 'operator' }]),
    '/api/rewards/rules/1': JSON.stringify({ version: 1, ...rules }),
  };
  const { codes, text, other } = await verdicts(COMPUTED, { files });
  expect({ codes, other }).toMatchObject({ codes: [0, 0] });
  expect(text).toContain(`excluded: ${points[0].wallet}: a bot\n`);
  expect(text).toContain('not on the chain: its status is computed; its review ends at 2030-01-01T00:00:00.000Z');
  expect(text).toContain('  the reasons of the exclusions\n  that root and points file do not change before they are on the chain');
});
