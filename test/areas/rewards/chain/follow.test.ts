import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { findClaimSignatures, followEpochs } from '#areas/rewards';
import { addressesOf, type EpochAddressesRow } from '#areas/rewards/chain/epoch-accounts.ts';
import { findOpening } from '#areas/rewards/chain/history.ts';
import { epochRoot } from '#areas/rewards/chain/root.ts';
import { startSearches } from '#areas/rewards/chain/signatures.ts';
import { buildOwnClaim } from '#areas/rewards/claims/own-transaction.ts';
import { finishLeaves } from '#areas/rewards/claims/settlement.ts';
import type { App } from '#platform/app.ts';
import { epochAddress, openEpoch } from '#platform/solana/distributor/index.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { createAssociatedTokenAccount } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  accountOf,
  claimAsStranger,
  insertComputedEpoch,
  newStranger,
  openTokenAccount,
  type RewardsTest,
  sendAs,
  startRewardsTest,
  storedClaims,
  type TestEpoch,
} from '#test/support/solana/claims.ts';
import { runUntil } from '#test/support/solana/submission.ts';
import { createWallet } from '#test/support/wallet.ts';

// No workers run, so each test decides when the chain is read.
let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
});
afterEach(() => t.chain.control.clear());
afterAll(() => t?.close());

/** Opens an epoch of two wallets with token accounts; each gets 10 base units. */
async function openHere(epoch: number): Promise<TestEpoch> {
  const wallets = [createWallet().address, createWallet().address];
  for (const wallet of wallets) await openTokenAccount(t, wallet);
  const made = await insertComputedEpoch(
    t.app,
    epoch,
    wallets.map((wallet) => [wallet, 10n]),
  );
  await runUntil(t.app, epochRoot, [String(epoch)], ['finalized']);
  return made;
}
const finalize = async () => t.chain.control.finalized((await t.chain.control.status()).slot);
/** Claims a leaf as a stranger. @returns the signature, after the transaction is finalized */
async function claimFinally(epoch: TestEpoch, index: number): Promise<string> {
  const signature = await claimAsStranger(t, epoch, epoch.leaves.slice(index, index + 1));
  await finalize();
  return signature;
}
const claimed = async (epoch: number) =>
  (await storedClaims(t, epoch)).filter(({ state }) => state === 'claimed').map(({ index, signature }) => [index, signature]);

test('without a second provider, claims are stored as the first provider shows them', async () => {
  const epoch = await openHere(710);
  const signature = await claimFinally(epoch, 1);
  const alone: App = { ...t.app, chain: Object.create(t.app.chain, { second: { value: null } }) };
  await followEpochs(alone);
  expect(await claimed(710)).toEqual([[1, signature]]);
});

test('a claim of a stranger is stored after a short time, also while a claim of ours with the same amount is pending and never lands', async () => {
  const epoch = await openHere(711);
  await sql(
    t.app,
    `with own as (insert into claims (epoch, index, wallet, amount, state, proof) values (711, 0, $1, 10, 'submitted', '') returning id),
     sent as (insert into chain_transactions (kind, subject, state) select 'claim', id::text, 'live' from own returning id)
     insert into chain_attempts (transaction_id, n, signature, bytes, signers, signed_slot, last_valid_height, spends, spend_day, preamble)
     select id, 1, 'a signature', '', '{}', 1, 1, '[]', 1, 0 from sent`,
    [epoch.leaves[0]?.wallet],
  );
  const signature = await claimFinally(epoch, 1);
  const { config } = t.app;
  // Pending claims explain a difference for ten rechecks.
  const submission = { ...config.chain.submission, recheckMs: 70 };
  const app: App = { ...t.app, config: { ...config, chain: { ...config.chain, submission } } };
  await followEpochs(app);
  await followEpochs(app);
  expect(await claimed(711)).toEqual([]);
  await sleep(700);
  await followEpochs(app);
  expect(await claimed(711)).toEqual([[1, signature]]);
});

test('the search for the signature of a claim goes on a minute after no provider returned a transaction', async () => {
  const wallet = await t.chain.fundWallet();
  await insertComputedEpoch(t.app, 712, [[wallet.publicKey.toBase58(), 10n]]);
  await runUntil(t.app, epochRoot, ['712'], ['finalized']);
  // The only transaction of the token account opens the account and claims the reward.
  const { instructions } = await buildOwnClaim(t.app, 712, wallet.publicKey.toBase58());
  const signature = await sendAs(t, wallet, instructions);
  await finalize();
  await t.app.tx(async (tx) => {
    await finishLeaves(tx, 712, [{ index: 0, signature: null }]);
    await tx.query(startSearches, [712, [0], 1]);
  });
  const search = () =>
    sql<{ minutes: number; before: string | null }>(
      t.app,
      'select ceil(extract(epoch from next_at - app_now()) / 60)::int as minutes, before from claim_searches',
    );
  const nodes = [t.app.chain.node, t.app.chain.second];
  const originals = nodes.map((node) => node?.transaction);
  for (const node of nodes) if (node) node.transaction = async () => null;
  try {
    await findClaimSignatures(t.app);
  } finally {
    for (const [i, node] of nodes.entries()) {
      const original = originals[i];
      if (node && original) node.transaction = original;
    }
  }
  expect(await search()).toEqual([{ minutes: 1, before: null }]);
  await findClaimSignatures(t.app);
  expect(await claimed(712)).toEqual([[0, null]]);
  await sql(t.app, 'update claim_searches set next_at = app_now()');
  await findClaimSignatures(t.app);
  expect(await claimed(712)).toEqual([[0, signature]]);
  expect(await search()).toEqual([]);
});

test('a transaction that opens an epoch of another authority and only names our epoch is not taken for its opening', async () => {
  const { program, rewardMint } = t.chain.keys;
  const [stranger, mint] = [await newStranger(t), rewardMint.publicKey];
  const account = epochAddress(program.publicKey, stranger.publicKey, mint, 713n);
  await sendAs(t, stranger, [createAssociatedTokenAccount(stranger.publicKey, account, mint)]);
  await sendAs(t, stranger, [createAssociatedTokenAccount(stranger.publicKey, stranger.publicKey, mint)]);
  await t.chain.localnet.fund(account, { reward: 5n });
  const foreign = openEpoch({
    ...{ program: program.publicKey, payer: stranger.publicKey, authority: stranger.publicKey, mint, refundOwner: stranger.publicKey },
    ...{ epoch: 713n, root: Buffer.alloc(32, 7), total: 5n, leaves: 1, expiry: Math.floor(t.clock.now().getTime() / 1_000) + 5 * 86_400 },
  });
  await sendAs(t, stranger, [foreign, transferLamports(stranger.publicKey, accountOf(t, 713), 1_500_000)]);
  await openHere(713);
  const [row] = await sql<EpochAddressesRow & { opening: string }>(
    t.app,
    'select a.*, e.commit_signature as opening from epoch_accounts a join epochs e on e.epoch = a.epoch where a.epoch = 713',
  );
  if (!row) throw new Error('epoch 713 is not open');
  // A restored database has forgotten the transaction.
  await sql(t.app, 'delete from chain_attempts a using chain_transactions c where a.transaction_id = c.id and c.subject = $1', ['713']);
  expect(await findOpening(t.app, addressesOf(row))).toMatchObject({ signature: row.opening });
});
