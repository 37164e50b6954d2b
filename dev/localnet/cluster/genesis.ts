import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeDraws, drawsAddress, initDraws } from '#platform/solana/draws/index.ts';
import { type Address, accountEntry, type Instruction, instruction, newSigner, type Signer } from '#platform/solana/primitives.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { createAccount } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, createAssociatedTokenAccount, MINT_BYTES, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { buildTransaction, signTransaction } from '#platform/solana/transactions.ts';
import { type DeploymentTransaction, deploymentTransactions } from '#programs/deploy/loader.ts';
import type { LocalnetKeys } from '../role-keys.ts';
import { BLOCKHASH_BLOCKS } from './bank.ts';

const DISTRIBUTOR = join(import.meta.dirname, '../../../programs/distributor/distributor.so');
const DRAWS = join(import.meta.dirname, '../../../programs/draws/draws.so');
/** Decimals of the reward token and of USDC. */
const DECIMALS = 6;
const INITIALIZE_MINT_2 = 20;

/** Initial balances. `SOL_PER_ROLE`: SOL of each role key. `TREASURY_REWARD` and `TREASURY_USDC`: tokens of the treasury, base units. */
const SOL_PER_ROLE = 10_000;
const LAMPORTS_PER_SOL = 1_000_000_000;
const TREASURY_REWARD = 1_000_000_000n * 10n ** BigInt(DECIMALS);
const TREASURY_USDC = 10_000_000n * 10n ** BigInt(DECIMALS);

/** A commitment needs only one second before its beacon round, so that draws on a localnet take little time. The maximum is that of production. */
const DRAWS_MARGIN_SEC = 1;
const DRAWS_WINDOW_SEC = 600;

/**
 * Sends the transactions that create the role accounts, the mints and the programs. Skips accounts that exist, so after an interrupted call a second
 * call creates the missing accounts.
 * @returns whether an account was missing
 */
export async function genesis(node: RpcNode, keys: LocalnetKeys): Promise<boolean> {
  const { feePayer, epochAuthority, treasury, committer, mintAuthority, program, drawsProgram, rewardMint, usdcMint } = keys;
  const payers = [feePayer, epochAuthority, treasury, committer, mintAuthority];
  const wanted = [...payers, program, drawsProgram, rewardMint, usdcMint].map(({ publicKey }) => publicKey);
  const { accounts } = await node.accounts(wanted, 'processed');
  const there = new Set(wanted.filter((_, i) => accounts[i]).map(String));
  const missing = (key: Signer) => !there.has(key.publicKey.toBase58());
  for (const payer of payers.filter(missing)) await node.airdrop(payer.publicKey, SOL_PER_ROLE * LAMPORTS_PER_SOL);
  if (missing(rewardMint)) await createMint(node, keys, rewardMint, TREASURY_REWARD);
  if (missing(usdcMint)) await createMint(node, keys, usdcMint, TREASURY_USDC);
  if (missing(program)) await deploy(node, feePayer, program, DISTRIBUTOR);
  if (missing(drawsProgram)) await deploy(node, feePayer, drawsProgram, DRAWS);
  return there.size < wanted.length;
}

/** Creates a mint without a freeze authority and mints the initial supply to the treasury. */
async function createMint(node: RpcNode, { mintAuthority, treasury }: LocalnetKeys, mint: Signer, amount: bigint): Promise<void> {
  const payer = mintAuthority.publicKey;
  const create = createAccount({
    payer,
    address: mint.publicKey,
    space: MINT_BYTES,
    lamports: await node.rentOf(MINT_BYTES),
    owner: TOKEN_PROGRAM,
  });
  const data = Buffer.concat([Buffer.from([INITIALIZE_MINT_2, DECIMALS]), payer.toBytes(), Buffer.from([0])]);
  const initialize = instruction(TOKEN_PROGRAM, [accountEntry(mint.publicKey, true)], data);
  await send(node, [create, initialize, ...mintingTo(mint.publicKey, treasury.publicKey, mintAuthority, amount)], [mintAuthority, mint]);
}

function mintingTo(mint: Address, wallet: Address, mintAuthority: Signer, amount: bigint): Instruction[] {
  const authority = mintAuthority.publicKey;
  return [createAssociatedTokenAccount(authority, wallet, mint), mintTo(mint, associatedTokenAddress(wallet, mint), authority, amount)];
}

/** Deploys a program without an upgrade authority. It can be called from the next slot on. */
async function deploy(node: RpcNode, payer: Signer, program: Signer, file: string): Promise<void> {
  const buffer = newSigner();
  const signers = { payer, buffer, program };
  const { begin, writes, end } = await deploymentTransactions({
    payer: payer.publicKey,
    buffer: buffer.publicKey,
    program: program.publicKey,
    bytes: readFileSync(file),
    upgradeAuthority: null,
    rent: (bytes) => node.rentOf(bytes),
  });
  const one = ({ instructions, signers: names }: DeploymentTransaction) =>
    send(
      node,
      instructions,
      names.map((name) => signers[name]),
    );
  await one(begin);
  await Promise.all(writes.map(one));
  await one(end);
}

/** The beacon of a localnet. */
interface BeaconFacts {
  readonly chainHash: string;
  /** Seconds between two rounds. */
  readonly period: number;
  /** Time of round 1, Unix time in seconds. */
  readonly genesis: number;
}

/**
 * Creates the draws account of the founder, under development rules. Does nothing if the account exists.
 * @returns whether the account was missing
 * @throws when the account exists for another beacon
 */
export async function foundDraws(node: RpcNode, keys: LocalnetKeys, beacon: BeaconFacts): Promise<boolean> {
  const [program, founder] = [keys.drawsProgram.publicKey, keys.founder.publicKey];
  const { account } = await node.account(drawsAddress(program, founder), 'processed');
  const known = decodeDraws(program, account);
  if (known && known.chainHash !== beacon.chainHash)
    throw new Error('localnet: the draws account of this folder is for another beacon period: restore the period, or delete the folder');
  if (known) return false;
  const facts = { ...beacon, margin: DRAWS_MARGIN_SEC, window: DRAWS_WINDOW_SEC, isDevelopment: true };
  const [payer, committer, receiptKey] = [keys.feePayer.publicKey, keys.committer.publicKey, keys.receipts.publicKey];
  await send(node, [initDraws({ program, payer, founder, committer, receiptKey, ...facts })], [keys.feePayer, keys.founder]);
  return true;
}

/** Amounts for a wallet: lamports, and base units of the tokens. */
export interface Funding {
  readonly lamports?: number;
  readonly reward?: bigint;
  readonly usdc?: bigint;
}

/** Transfers SOL to a wallet and mints tokens to the wallet's associated token accounts. Creates these accounts if they are missing. */
export async function fund(node: RpcNode, keys: LocalnetKeys, wallet: Address, gift: Funding): Promise<void> {
  const { mintAuthority, rewardMint, usdcMint } = keys;
  if (gift.lamports) await node.airdrop(wallet, gift.lamports);
  const instructions = [
    ...(gift.reward ? mintingTo(rewardMint.publicKey, wallet, mintAuthority, gift.reward) : []),
    ...(gift.usdc ? mintingTo(usdcMint.publicKey, wallet, mintAuthority, gift.usdc) : []),
  ];
  if (instructions.length > 0) await send(node, instructions, [mintAuthority]);
}

/** Maximum attempts per transaction. With short slots on a busy machine, a blockhash may expire before the transaction is executed. */
const MAX_ATTEMPTS = 5;
const POLL_MS = 50;

/** Sends a transaction. The first signer pays the fee. Sends it again with a new blockhash if its blockhash has expired. */
async function send(node: RpcNode, instructions: readonly Instruction[], signers: readonly Signer[]): Promise<void> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) if (await sendOnce(node, instructions, signers)) return;
  throw new Error(`localnet: a transaction did not land in ${MAX_ATTEMPTS} attempts`);
}

/**
 * Sends a transaction and checks its status. A localnet executes a transaction before it responds, so the status is available at once. Without a status
 * the blockhash may have expired before the execution; then this function waits until it has expired for certain, so that a further attempt is safe.
 * @returns false when the blockhash has expired and the transaction has not landed
 */
async function sendOnce(node: RpcNode, instructions: readonly Instruction[], signers: readonly Signer[]): Promise<boolean> {
  const [payer] = signers;
  if (!payer) throw new Error('a transaction needs a signer');
  const { blockhash, lastValidBlockHeight } = await node.latestBlockhash('processed');
  const { signature, bytes } = signTransaction(buildTransaction(payer.publicKey, instructions, blockhash), signers);
  try {
    await node.send(bytes, 'processed');
  } catch (error) {
    if (/Blockhash not found/.test(String(error))) return false;
    throw error;
  }
  for (;;) {
    const isExpired = (await node.latestBlockhash('processed')).lastValidBlockHeight > lastValidBlockHeight + BLOCKHASH_BLOCKS;
    const status = (await node.statuses([signature], { searchHistory: true })).statuses[0] ?? null;
    if (status?.err) throw new Error(`localnet: transaction ${signature} failed: ${JSON.stringify(status.err)}`);
    if (status !== null || isExpired) return status !== null;
    await sleep(POLL_MS);
  }
}
