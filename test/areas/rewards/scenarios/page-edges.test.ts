import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { followEpochs } from '#areas/rewards';
import { CLAIMS_PER_PAGE, decodePage, isClaimed, pageAddress } from '#platform/solana/distributor/index.ts';
import { randomWallet } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import {
  accountOf,
  claimAsStranger,
  claimBody,
  newClaimant,
  openEpoch,
  openTokenAccount,
  type RewardsTest,
  rewardOf,
  startRewardsTest,
  storedClaims,
  untilClaim,
} from '#test/support/solana/claims.ts';
import { createWallet, type SignedIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
});
afterAll(() => t.close());

/** The first and last leaves of the three pages, claimed by their wallets, and their neighbors, claimed by a stranger. */
const LEAVES = 8_194;
const OURS = [0, 4_095, 4_096, 8_191, 8_192];
const FOREIGN = [1, 4_094, 4_097, 8_190, 8_193];

/** Indexes of the leaves that are claimed on the finalized chain. */
async function bitsOf(epoch: number): Promise<number[]> {
  const program = t.chain.keys.program.publicKey;
  const found: number[] = [];
  for (let number = 0; number * CLAIMS_PER_PAGE < LEAVES; number++) {
    const page = decodePage(program, await t.chain.connection.getAccountInfo(pageAddress(program, accountOf(t, epoch), number), 'finalized'));
    if (!page) throw new Error(`page ${number} does not exist`);
    for (let index = number * CLAIMS_PER_PAGE; index < Math.min(LEAVES, (number + 1) * CLAIMS_PER_PAGE); index++)
      if (isClaimed(page, index)) found.push(index);
  }
  return found;
}

test('claims at the edges of the bitmap pages, by us and by strangers, set their own bits, are paid once, and are stored', async () => {
  const players = new Map<number, SignedIn>();
  for (const index of OURS) players.set(index, await newClaimant(t));
  const strangers = new Map(FOREIGN.map((index) => [index, createWallet().address]));
  for (const wallet of strangers.values()) await openTokenAccount(t, wallet);
  const walletOf = (index: number) => players.get(index)?.wallet ?? strangers.get(index) ?? randomWallet();
  const epoch = await openEpoch(
    t,
    690,
    Array.from({ length: LEAVES }, (_, index) => [walletOf(index), BigInt(index + 1)] as const),
  );

  const leaves = FOREIGN.map((index) => epoch.leaves[index]).filter((leaf) => leaf !== undefined);
  await Promise.all(leaves.map((leaf) => claimAsStranger(t, epoch, [leaf])));
  const answers = await Promise.all(
    [...players.values()].map((player) =>
      player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet), headers: { Prefer: 'wait=20' } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(OURS.map(() => 200));
  const all = [...OURS, ...FOREIGN].sort((a, b) => a - b);
  for (const index of all) await untilClaim(t, 690, index, 'claimed');
  await retryUntilPass(async () => expect(await bitsOf(690)).toEqual(all));
  for (const index of all) expect(await rewardOf(t, walletOf(index))).toBe(BigInt(index + 1));
  expect((await storedClaims(t, 690)).map(({ index }) => index)).toEqual(all);

  // A second claim of each leaf is refused, and does not take the bit of a neighbor.
  const again = await Promise.all(
    [...players.values()].map((player) => player.fetch('/api/rewards/claim', { json: claimBody(epoch, player.wallet) })),
  );
  expect(again.map(({ status }) => status)).toEqual(OURS.map(() => 409));
  await followEpochs(t.app);
  expect((await storedClaims(t, 690)).map(({ index }) => index)).toEqual(all);
}, 60_000);
