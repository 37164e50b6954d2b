import { type Keypair, PublicKey, Transaction, type TransactionInstruction } from '@solana/web3.js';
import bs58 from 'bs58';
import { storeTree } from '#areas/rewards/epochs/leaf-store.ts';
import { onComputed } from '#areas/rewards/epochs/on-computed.ts';
import { subtreeRoots } from '#areas/rewards/epochs/tree-chunks.ts';
import { buildTree, hashLeaves, proofOf, rootOf } from '#lib/merkle.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { claimReward, epochAddress } from '#platform/solana/distributor/index.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '../app.ts';
import { retryUntilPass } from '../areas/player.ts';
import { createWallet, type SignedIn, signIn } from '../wallet.ts';
import { startTestChain, type TestChain } from './chain.ts';

/** Submission settings for the short slots of test clusters. */
export const FAST_SUBMISSION = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '100', LANDING_DEPTH_BLOCKS: '4' };

/** An application with a test cluster. */
export interface RewardsTest extends TestApp {
  readonly chain: TestChain;
}

type RewardsTestOptions = Parameters<typeof startTestApp>[0] & { chain?: TestChain };

/** Starts an application and a cluster. With `chain`, the application uses that cluster, and `close` does not close it. */
export async function startRewardsTest({ chain: shared, ...options }: RewardsTestOptions = {}): Promise<RewardsTest> {
  const chain = shared ?? (await startTestChain());
  const t = await startTestApp({ ...options, env: { ...chain.env, ...FAST_SUBMISSION, ...options.env } });
  return {
    ...t,
    chain,
    async close() {
      await t.close();
      if (!shared) await chain.close();
    },
  };
}

/** An epoch with its leaves and proofs. */
export interface TestEpoch {
  readonly epoch: number;
  readonly total: bigint;
  readonly root: string;
  readonly leaves: readonly TestLeaf[];
}
interface TestLeaf {
  readonly index: number;
  readonly wallet: string;
  readonly amount: bigint;
  /** Sibling hashes from the leaf to the root, hex. */
  readonly proof: readonly string[];
}

const insertEpoch = statement(
  'test_insert_epoch',
  `insert into epochs (epoch, state, source, pool, dust, expiry_days, rules_version, formula, wallets, points, leaves, total, undistributed, root, computed_at)
   values ($1, 'computed', 'computed', $2::numeric, 0, $5, 1, 1, $3::int, $3::int, $3::int, $2::numeric, 0, $4, app_now())`,
);
const insertLeaves = statement(
  'test_insert_leaves',
  `insert into reward_leaves (epoch, index, wallet, points, amount)
   select $1::int, n - 1, wallet, 1, amount from unnest($2::text[], $3::numeric[]) with ordinality as l(wallet, amount, n)`,
);

/** Inserts an epoch in state `computed` with its leaves, so that the service submits its root next. */
export async function insertComputedEpoch(
  app: App,
  epoch: number,
  amounts: readonly (readonly [wallet: string, amount: bigint])[],
  expiryDays = 90,
): Promise<TestEpoch> {
  const hashes = new Uint8Array(amounts.length * 32);
  hashLeaves(
    epoch,
    0,
    Buffer.concat(amounts.map(([wallet]) => bs58.decode(wallet))),
    BigUint64Array.from(amounts.map(([, amount]) => amount)),
    hashes,
  );
  const levels = buildTree(hashes);
  const root = Buffer.from(rootOf(levels));
  const total = amounts.reduce((sum, [, amount]) => sum + amount, 0n);
  await app.tx(async (tx) => {
    await tx.query(insertEpoch, [epoch, String(total), amounts.length, root, expiryDays]);
    await tx.query(insertLeaves, [epoch, amounts.map(([wallet]) => wallet), amounts.map(([, amount]) => String(amount))]);
    await storeTree(tx, { epoch, allocation: 1 }, { root, leaves: hashes, roots: subtreeRoots(levels) });
    await onComputed(tx, {
      epoch,
      allocation: 1,
      state: 'computed',
      leaves: amounts.length,
      total: String(total),
      undistributed: '0',
      root: root.toString('hex'),
      settleRequested: false,
    });
  });
  const leaves = amounts.map(([wallet, amount], index) => ({
    index,
    wallet,
    amount,
    proof: proofOf(levels, index).map((node) => Buffer.from(node).toString('hex')),
  }));
  return { epoch, total, root: root.toString('hex'), leaves };
}

/** Signs a new player in and, by default, opens a token account. */
export async function newClaimant(t: RewardsTest, { tokenAccount = true } = {}): Promise<SignedIn> {
  const player = await signIn(t, createWallet());
  if (tokenAccount) await openTokenAccount(t, player.wallet);
  return player;
}

/** Sends a transaction of a given signer and waits until it is confirmed. @throws when the transaction fails */
export async function sendAs(t: RewardsTest, signer: Keypair, instructions: readonly TransactionInstruction[], withinMs?: number): Promise<string> {
  const { connection } = t.chain;
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: signer.publicKey, recentBlockhash: blockhash }).add(...instructions);
  transaction.sign(signer);
  const signature = await connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true });
  let error: unknown;
  await retryUntilPass(async () => {
    const { value } = await connection.getSignatureStatus(signature);
    if (value?.confirmationStatus !== 'confirmed' && value?.confirmationStatus !== 'finalized') throw new Error(`${signature} is not confirmed`);
    error = value.err;
  }, withinMs);
  if (error) throw new Error(`${signature} failed: ${JSON.stringify(error)}`);
  return signature;
}

/** Returns the address of a wallet's reward token account. */
export const tokenAccountOf = (t: RewardsTest, wallet: string): PublicKey =>
  associatedTokenAddress(new PublicKey(wallet), t.chain.keys.rewardMint.publicKey);

/** Opens a wallet's reward token account. The mint authority pays the rent. */
export async function openTokenAccount(t: RewardsTest, wallet: string): Promise<void> {
  const { mintAuthority, rewardMint } = t.chain.keys;
  await sendAs(t, mintAuthority, [createAssociatedTokenAccount(mintAuthority.publicKey, new PublicKey(wallet), rewardMint.publicKey)]);
}

const selectState = statement<{ state: string }>('test_epoch_state', 'select state from epochs where epoch = $1');

/** Waits until an epoch has a state. */
export async function untilEpoch(t: Pick<TestApp, 'app'>, epoch: number, state: string): Promise<void> {
  await retryUntilPass(async () => {
    const found = (await t.app.db.query(selectState, [epoch]))[0]?.state;
    if (found !== state) throw new Error(`epoch ${epoch} is ${found}, not ${state}`);
  });
}

/** Inserts an epoch and waits until its claims are open. */
export async function openEpoch(
  t: RewardsTest,
  epoch: number,
  amounts: Parameters<typeof insertComputedEpoch>[2],
  expiryDays?: number,
): Promise<TestEpoch> {
  const made = await insertComputedEpoch(t.app, epoch, amounts, expiryDays);
  await untilEpoch(t, epoch, 'committed');
  return made;
}

let nextEpoch = 600;

/** Opens the next epoch for `n` new players with token accounts. Each gets 10 base units, or `amountOf(i)`. */
export async function newEpoch(
  t: RewardsTest,
  n: number,
  amountOf: (i: number) => bigint = () => 10n,
): Promise<{ epoch: TestEpoch; players: SignedIn[] }> {
  const players: SignedIn[] = [];
  // A few at a time, because hundreds of sign-ins at once overload a machine that runs other tests too.
  for (let i = 0; i < n; i += 20) players.push(...(await Promise.all(Array.from({ length: Math.min(20, n - i) }, () => newClaimant(t)))));
  const amounts = players.map(({ wallet }, i) => [wallet, amountOf(i)] as const);
  return { epoch: await openEpoch(t, nextEpoch++, amounts), players };
}

/** Returns the request body of `POST /api/rewards/claim` for a wallet's leaf. */
export function claimBody({ epoch, leaves }: TestEpoch, wallet: string): { epoch: number; proof: readonly string[] } {
  return { epoch, proof: leafOf({ leaves }, wallet).proof };
}

export function leafOf({ leaves }: Pick<TestEpoch, 'leaves'>, wallet: string): TestLeaf {
  const leaf = leaves.find((one) => one.wallet === wallet);
  if (!leaf) throw new Error(`${wallet} has no leaf`);
  return leaf;
}

/** Returns a wallet's balance of the reward token; 0 when it has no token account. */
export async function rewardOf(t: RewardsTest, wallet: string, commitment: 'confirmed' | 'finalized' = 'finalized'): Promise<bigint> {
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(tokenAccountOf(t, wallet), commitment))?.amount ?? 0n;
}

/** Returns the address of an epoch account. */
export function accountOf(t: RewardsTest, epoch: number): PublicKey {
  const { program, epochAuthority, rewardMint } = t.chain.keys;
  return epochAddress(program.publicKey, epochAuthority.publicKey, rewardMint.publicKey, BigInt(epoch));
}

/** Builds the instruction that claims a leaf; any payer may send it. */
function claimInstruction(t: RewardsTest, epoch: TestEpoch, leaf: TestLeaf, payer: PublicKey): TransactionInstruction {
  return claimReward({
    program: t.chain.keys.program.publicKey,
    payer,
    epochAccount: accountOf(t, epoch.epoch),
    mint: t.chain.keys.rewardMint.publicKey,
    index: leaf.index,
    wallet: new PublicKey(leaf.wallet),
    amount: leaf.amount,
    proof: leaf.proof.map((node) => Buffer.from(node, 'hex')),
  });
}

/** Creates a wallet with SOL that is unknown to the service. */
export const newStranger = (t: RewardsTest): Promise<Keypair> => t.chain.fundWallet();

/** Claims leaves in one transaction that the service does not send. @returns the signature, after its confirmation */
export async function claimAsStranger(
  t: RewardsTest,
  epoch: TestEpoch,
  leaves: readonly TestLeaf[],
  stranger?: Keypair,
  withinMs?: number,
): Promise<string> {
  const payer = stranger ?? (await newStranger(t));
  return await sendAs(
    t,
    payer,
    leaves.map((leaf) => claimInstruction(t, epoch, leaf, payer.publicKey)),
    withinMs,
  );
}

/** A row of `claims`. */
interface StoredClaim {
  id: string;
  index: number;
  wallet: string;
  amount: string;
  state: string;
  signature: string | null;
  requested_by: string | null;
  reason: string | null;
}
const selectStored = statement<StoredClaim>(
  'test_stored_claims',
  'select id::text, index, wallet, amount::text, state, signature, requested_by, reason from claims where epoch = $1 order by index',
);
export const storedClaims = (t: Pick<TestApp, 'app'>, epoch: number): Promise<StoredClaim[]> => t.app.db.query(selectStored, [epoch]);

/** Waits until the claim of a leaf has a state. */
export async function untilClaim(t: Pick<TestApp, 'app'>, epoch: number, index: number, state: string, withinMs?: number): Promise<StoredClaim> {
  let found: StoredClaim | undefined;
  await retryUntilPass(async () => {
    found = (await storedClaims(t, epoch)).find((claim) => claim.index === index);
    if (found?.state !== state) throw new Error(`claim ${epoch}/${index} is ${found?.state} (${found?.reason}), not ${state}`);
  }, withinMs);
  if (!found) throw new Error('the claim was not found');
  return found;
}
