import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { drawsAddress } from '#platform/solana/draws/index.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { Beacon } from './beacon/beacon.ts';
import { Chain } from './cluster/chain.ts';
import { type Funding, foundDraws, fund, genesis } from './cluster/genesis.ts';
import type { MarketOptions } from './control/commands.ts';
import { LocalnetControl } from './control/control.ts';
import { CommandError, marketOf } from './control/control-routes.ts';
import { deliver, Faults } from './control/faults.ts';
import type { LocalnetServices } from './control/services.ts';
import { lock } from './lock.ts';
import { keysOf, type LocalnetKeys } from './role-keys.ts';
import { Node } from './rpc/node.ts';
import { serve, serveSecond } from './server.ts';

export interface LocalnetOptions {
  /** Folder of the journal (the log of all changes) and of the seed from which keys derive. If undefined, the cluster exists only in memory. */
  readonly folder?: string;
  readonly host?: string;
  /** Port; 0 (default): any free port. */
  readonly port?: number;
  /** Port of the second RPC node; 0 (default): any free port. */
  readonly secondPort?: number;
  /** Credits per second that each RPC node grants; undefined: no limit. */
  readonly creditsPerSecond?: number;
  /** The competition for blocks that begins after the genesis; undefined: each transaction lands at once. */
  readonly market?: MarketOptions;
  /** Length of a slot, ms. */
  readonly slotMs?: number;
  /** A block is confirmed when `confirmedAfter` later blocks exist, and finalized when `finalizedAfter` later blocks exist. */
  readonly confirmedAfter?: number;
  readonly finalizedAfter?: number;
  /** Time between two rounds of the beacon, ms. */
  readonly beaconMs?: number;
  /** Whether to create the role accounts, the mints, the programs and the draws account (default: true). */
  readonly genesis?: boolean;
}

/** A running cluster. */
export interface Localnet {
  /** URL of the first RPC node. */
  readonly url: string;
  readonly secondUrl: string;
  /** Environment variables with which Coinop uses this cluster. */
  readonly env: Readonly<Record<string, string>>;
  readonly keys: LocalnetKeys;
  readonly control: LocalnetControl;
  /** Transfers SOL to a wallet and mints tokens to it. */
  fund(wallet: Address, gift: Funding): Promise<void>;
  close(): Promise<void>;
}

const Identity = z.object({ seed: z.string().regex(/^[0-9a-f]{64}$/), born: z.number().int() });
type Identity = z.output<typeof Identity>;

/**
 * Returns the seed from which all keys of the cluster derive, and the creation time of the cluster, unix seconds. Reads both from the folder, or
 * creates them if the folder is new.
 */
function identityOf(folder: string | undefined): Identity {
  const fresh = { seed: randomBytes(32).toString('hex'), born: Math.floor(Date.now() / 1000) };
  if (folder === undefined) return fresh;
  const path = join(folder, 'identity.json');
  if (existsSync(path)) return Identity.parse(JSON.parse(readFileSync(path, 'utf8')));
  writePrivateFile(path, fresh);
  return fresh;
}

/**
 * Writes a JSON file with mode 0600. Writes the file under another name first and renames it at the end, so that no reader sees an incomplete file.
 */
export function writePrivateFile(path: string, value: object): void {
  writeFileSync(`${path}.new`, JSON.stringify(value), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** Starts a cluster in this process: chain, RPC nodes, beacon and HTTP server. */
export async function startLocalnet(options: LocalnetOptions = {}): Promise<Localnet> {
  const { folder } = options;
  if (folder !== undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unlock = folder === undefined ? () => {} : lock(folder);
  try {
    return await start(options, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

async function start(options: LocalnetOptions, unlock: () => void): Promise<Localnet> {
  const { folder, host = '127.0.0.1', port = 0, slotMs = 400, confirmedAfter = 1, finalizedAfter = 32, beaconMs = 3_000 } = options;
  const identity = identityOf(folder);
  const seed = Buffer.from(identity.seed, 'hex');
  const journalPath = folder === undefined ? undefined : join(folder, 'journal');
  const chain = new Chain({ slotMs, confirmedAfter, finalizedAfter, journalPath, seed });
  const beacon = new Beacon({ seed, periodMs: beaconMs, genesisTime: identity.born });
  const keys = keysOf(seed);
  let isReady = false;
  const services: LocalnetServices = {
    isReady: () => isReady,
    chain,
    beacon,
    faults: new Faults(),
    first: new Node('first', chain),
    second: new Node('second', chain),
    faucet: handleFaucet,
  };
  const nodes = [services.first, services.second];
  for (const node of nodes) node.submit = (tx) => deliver(node, nodes, services.faults, tx);
  const { url, close: closeFirst } = await serve(services, host, port);
  const { url: secondUrl, close: closeSecond } = await serveSecond(services, host, options.secondPort ?? 0).catch(async (error: unknown) => {
    await closeFirst();
    throw error;
  });
  const node = new RpcNode(url);
  const sendFunds = (wallet: Address, gift: Funding) => fund(node, keys, wallet, gift);

  const FaucetRequest = z.strictObject({
    wallet: z.string(),
    sol: z.number().min(0).max(1_000_000).default(0),
    reward: z.number().min(0).max(1_000_000_000).default(0),
    usdc: z.number().min(0).max(1_000_000_000).default(0),
  });
  async function handleFaucet(body: unknown): Promise<object> {
    const parsed = FaucetRequest.safeParse(body);
    if (!parsed.success) throw new CommandError(z.prettifyError(parsed.error));
    const { wallet, sol, reward, usdc } = parsed.data;
    const units = (tokens: number) => BigInt(Math.round(tokens * 1e6));
    await sendFunds(addressOf(wallet), { lamports: Math.round(sol * 1e9), reward: units(reward), usdc: units(usdc) });
    return { wallet, sol, reward, usdc };
  }

  const shutDown = async () => {
    await Promise.all([closeFirst(), closeSecond()]);
    chain.close();
    unlock();
  };
  try {
    if (options.genesis !== false) {
      const { hash: chainHash, period, genesis_time: genesisTime } = beacon.info();
      // Advances the clock until the blocks of the genesis transactions are finalized.
      if (await genesis(node, keys)) chain.clock.advance(finalizedAfter + 1);
      if (await foundDraws(node, keys, { chainHash, period: Math.floor(period), genesis: genesisTime })) chain.clock.advance(finalizedAfter + 1);
    }
    if (options.market !== undefined) chain.congest(marketOf(options.market));
    if (options.creditsPerSecond !== undefined) for (const { limit } of nodes) limit.set(options.creditsPerSecond);
    isReady = true;
  } catch (error) {
    await shutDown();
    throw error;
  }
  return {
    url,
    secondUrl,
    env: environment(url, secondUrl, keys, beacon),
    keys,
    control: new LocalnetControl(url),
    fund: sendFunds,
    close: shutDown,
  };
}

function addressOf(text: string): Address {
  try {
    return parseAddress(text);
  } catch {
    throw new CommandError(`${text} is not an address`);
  }
}

function environment(url: string, secondUrl: string, keys: LocalnetKeys, beacon: Beacon): Record<string, string> {
  const secret = (role: keyof LocalnetKeys) => JSON.stringify([...keys[role].secretKey]);
  return {
    SOLANA_RPC_URL: url,
    SOLANA_RPC_SECOND_URL: secondUrl,
    DISTRIBUTOR_PROGRAM_ID: keys.program.publicKey.toBase58(),
    DRAWS_PROGRAM_ID: keys.drawsProgram.publicKey.toBase58(),
    DRAWS_ADDRESS: drawsAddress(keys.drawsProgram.publicKey, keys.founder.publicKey).toBase58(),
    RECEIPT_KEY: Buffer.from(keys.receipts.secretKey.subarray(0, 32)).toString('base64'),
    REWARD_MINT: keys.rewardMint.publicKey.toBase58(),
    USDC_MINT: keys.usdcMint.publicKey.toBase58(),
    FEE_PAYER_KEY: secret('feePayer'),
    EPOCH_AUTHORITY_KEY: secret('epochAuthority'),
    TREASURY_KEY: secret('treasury'),
    COMMITTER_KEY: secret('committer'),
    TREASURY_ADDRESS: keys.treasury.publicKey.toBase58(),
    COMMITTER_ADDRESS: keys.committer.publicKey.toBase58(),
    DRAND_URLS: `${url}/beacon`,
    DRAND_CHAIN_HASH: beacon.chainHash,
    DRAND_PUBLIC_KEY: beacon.publicKey,
  };
}
