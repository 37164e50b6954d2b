import { randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import bs58 from 'bs58';
import type { z } from 'zod';
import { postRound } from '#areas/lottery/legacy/routes.ts';
import type { LegacyRoundTerms } from '#areas/lottery/legacy/schemas.ts';
import { type Address, type Instruction, parseAddress, type Signer } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, memo, transferChecked } from '#platform/solana/tokens.ts';
import { clientOf } from '../http/client.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { type SignedIn, signIn } from '../wallet.ts';
import { sql } from './boards.ts';
import { retryUntilPass } from './player.ts';

/** A wallet with a session, SOL, stablecoin and the reward token. */
export interface Payer extends SignedIn {
  readonly keys: Signer;
}

/** Initial balance of a payer, base units of each token. */
export const PURSE = 1_000_000_000n;

export async function newPayer(t: RewardsTest): Promise<Payer> {
  const keys = await t.chain.fundWallet({ lamports: 1_000_000_000, usdc: PURSE, reward: PURSE });
  const wallet = {
    address: keys.publicKey.toBase58(),
    publicKey: keys.publicKey.toBytes(),
    sign: (bytes: Uint8Array) => ed25519.sign(bytes, keys.secretKey.subarray(0, 32)),
  };
  return { ...(await signIn(t, wallet)), keys };
}

/** Opens a legacy round. */
export async function openRound(t: RewardsTest, by: SignedIn, terms: Partial<z.input<typeof LegacyRoundTerms>> = {}) {
  return (await clientOf(t, by).ok(postRound, { body: { ticketPrice: '1000', ...terms } })).body;
}

/** Returns the time in a number of ms, by the test's clock. */
export const inMs = (t: RewardsTest, ms: number): string => new Date(t.clock.now().getTime() + ms).toISOString();

/** Returns a transfer; by default of stablecoin to the treasury. */
export function pay(
  t: RewardsTest,
  from: Signer,
  amount: bigint,
  { mint = t.chain.keys.usdcMint.publicKey, to = t.chain.keys.treasury.publicKey } = {},
) {
  return transferChecked({
    from: associatedTokenAddress(from.publicKey, mint),
    to: associatedTokenAddress(to, mint),
    owner: from.publicKey,
    mint,
    decimals: 6,
    amount,
  });
}

/** Sends the payment for a ticket. @returns its signature, without waiting for confirmation */
export const payFor = (t: RewardsTest, payer: Payer, round: { id: string }, amount = 1_000n): Promise<string> =>
  t.chain.send([pay(t, payer.keys, amount), memo(round.id)], [payer.keys]);

/** Returns the instruction that opens a stablecoin account of another wallet. */
export const openAccount = (t: RewardsTest, payer: Signer, owner: Address): Instruction =>
  createAssociatedTokenAccount(payer.publicKey, owner, t.chain.keys.usdcMint.publicKey);

/** Waits until a transaction is finalized. */
export async function untilFinal(t: RewardsTest, signature: string): Promise<string> {
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    if (value?.confirmationStatus !== 'finalized') throw new Error(`${signature} is ${value?.confirmationStatus ?? 'unknown'}, not finalized`);
  }, 30_000);
  return signature;
}

/** Reads a wallet's finalized balance of a currency, base units. */
export async function balanceOf(t: RewardsTest, wallet: string, currency: 'usdc' | 'reward' = 'usdc'): Promise<bigint> {
  const { usdcMint, rewardMint } = t.chain.keys;
  const account = associatedTokenAddress(parseAddress(wallet), (currency === 'usdc' ? usdcMint : rewardMint).publicKey);
  return BigInt((await t.chain.connection.getTokenAccountBalance(account, 'finalized')).value.amount);
}

/** Reads the stored tickets of a round, oldest first. */
export const storedTickets = (t: RewardsTest, round: { id: string }) =>
  sql<{ id: string; wallet: string; signature: string | null; state: string; reason: string | null }>(
    t.app,
    'select id::text, wallet, signature, state, reason from tickets where round = $1 order by id',
    [round.id],
  );

/** Reads the stored entries of a round, ordered by index. */
export const storedEntries = (t: RewardsTest, round: { id: string }) =>
  sql<{ index: number; wallet: string; source: string; messageId: string }>(
    t.app,
    'select index, wallet, source, message_id as "messageId" from entries where round = $1 order by index',
    [round.id],
  );

/** Reads the refunds of a transaction, ordered by the cause's id. */
export const refundsOf = (t: RewardsTest, signature: string) =>
  sql<{ cause: string; wallet: string; currency: string; amount: string; state: string }>(
    t.app,
    `select cause_id as cause, wallet, currency, amount::text, state from payments where cause_kind = 'refund' and cause_id like $1 || '%' order by 1`,
    [signature],
  );

/** Requests a ticket. */
export const requestTicket = (by: SignedIn, round: { id: string }, transaction: string, headers: Record<string, string> = {}) =>
  by.fetch(`/round/${round.id}/ticket`, { json: { transaction }, headers });

/** Waits until every transaction has a refund and all refunds are completed. @param within maximum wait, ms */
export async function untilRefunded(t: RewardsTest, signatures: readonly string[], within = 60_000) {
  await retryUntilPass(async () => {
    const refunds = (await Promise.all(signatures.map((signature) => refundsOf(t, signature)))).flat();
    const open = refunds.find(({ state }) => state !== 'completed');
    if (open) throw new Error(`the refund for ${open.cause} is ${open.state}`);
    if (refunds.length < signatures.length) throw new Error(`${refunds.length} refunds for ${signatures.length} transactions`);
  }, within);
}

/** Returns a random signature that no transaction has. */
export const randomSignature = (): string => bs58.encode(randomBytes(64));
