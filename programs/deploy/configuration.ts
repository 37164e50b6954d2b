import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import { Hash } from '#lib/draw/bytes.ts';
import { type Address, isOnCurve, parseAddress, parseSecretKey, type Signer, signerFromSeed } from '#platform/solana/primitives.ts';

/** Genesis hashes of the public clusters. */
const GENESIS_HASHES: Readonly<Record<string, string>> = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  testnet: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
};

/** An address, or the path of the file of a key. A relative path begins at the folder of the configuration. */
const Key = z.string().min(1);
const whole = (max: number) => z.int().min(0).max(max);

/** The configuration of a deployment. programs/deploy/example.json is an example; docs/operations.md explains each field. */
const Configuration = z.strictObject({
  cluster: z
    .string()
    .refine((text) => Object.hasOwn(GENESIS_HASHES, text) || isAddress(text), 'must be mainnet-beta, testnet, devnet, or a genesis hash'),
  rpcUrl: z.url({ protocol: /^https?$/ }),
  deployer: Key,
  distributor: z.strictObject({ program: Key, upgradeAuthority: Key }),
  draws: z.strictObject({
    program: Key,
    founder: Key,
    receiptKey: Key,
    marginSec: whole(86_400).default(60),
    windowSec: whole(86_400).default(600),
    development: z.strictObject({ chainHash: Hash, periodSec: whole(86_400), genesis: whole(2 ** 40) }).optional(),
  }),
  roles: z.strictObject({ feePayer: Key, epochAuthority: Key, treasury: Key, committer: Key }),
  mints: z.strictObject({ reward: Key, usdc: Key, rewardMayFreeze: z.boolean().default(false) }),
  payoutLanes: z.int().min(1).max(64).default(4),
  priorityPrice: whole(100_000_000).default(10_000),
  maxPriorityPrice: whole(100_000_000).default(1_000_000),
});

/** A key that the configuration names: its address, and the key pair when the configuration names a file. */
export interface DeploymentKey {
  /** The field of the configuration, for error messages. */
  readonly field: string;
  readonly address: Address;
  readonly signer: Signer | null;
  /** Absolute path of the file; null when the configuration names the address only. */
  readonly file: string | null;
}

/** The wanted state of a deployment. */
export type Deployment = ReturnType<typeof readDeployment>;

/** Reads the configuration of a deployment and its key files. @throws with one sentence that names the field and what it must be */
export function readDeployment(path: string) {
  const parsed = Configuration.safeParse(readJson(path));
  if (!parsed.success) throw new Error(`${path}: ${z.prettifyError(parsed.error)}`);
  const c = parsed.data;
  const key = (field: string, text: string, parse = parseSecretKey) => readKey(field, text, resolve(dirname(path), text), parse);
  const { development } = c.draws;
  const genesisHash = GENESIS_HASHES[c.cluster] ?? c.cluster;
  const deployer = key('deployer', c.deployer);
  const deployment = {
    /** The name of a public cluster; the genesis hash of another cluster. */
    clusterName: Object.keys(GENESIS_HASHES).find((name) => GENESIS_HASHES[name] === genesisHash) ?? genesisHash,
    genesisHash,
    rpcUrl: c.rpcUrl,
    deployer: signerOf(deployer, 'it pays for every step'),
    distributor: {
      program: key('distributor.program', c.distributor.program),
      /** Null: the program is final. */
      upgradeAuthority:
        c.distributor.upgradeAuthority === 'final' ? null : readAddress('distributor.upgradeAuthority', c.distributor.upgradeAuthority),
    },
    draws: {
      program: key('draws.program', c.draws.program),
      founder: key('draws.founder', c.draws.founder),
      receiptKey: key('draws.receiptKey', c.draws.receiptKey, (text) => parseSeed(text) ?? parseSecretKey(text)),
      margin: c.draws.marginSec,
      window: c.draws.windowSec,
      isDevelopment: development !== undefined,
      beacon: development
        ? { chainHash: development.chainHash, period: development.periodSec, genesis: development.genesis }
        : { chainHash: QUICKNET.chainHash, period: QUICKNET.period, genesis: QUICKNET.genesisTime },
    },
    roles: {
      feePayer: key('roles.feePayer', c.roles.feePayer),
      epochAuthority: key('roles.epochAuthority', c.roles.epochAuthority),
      treasury: key('roles.treasury', c.roles.treasury),
      committer: key('roles.committer', c.roles.committer),
    },
    mints: {
      reward: readAddress('mints.reward', c.mints.reward),
      usdc: readAddress('mints.usdc', c.mints.usdc),
      rewardMayFreeze: c.mints.rewardMayFreeze,
    },
    payoutLanes: c.payoutLanes,
    price: c.priorityPrice,
    maxPrice: Math.max(c.priorityPrice, c.maxPriorityPrice),
  };
  checkKeys(deployment);
  return deployment;
}

/** Returns the key pair of a key. @throws when the configuration names only its address. @param reason why the key pair is needed */
export function signerOf({ field, address, signer }: DeploymentKey, reason: string): Signer {
  if (signer !== null) return signer;
  throw new Error(`${field} must be the file of the key ${address}, because ${reason}`);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${path} must be a readable JSON file`, { cause });
  }
}

function isAddress(text: string): boolean {
  try {
    parseAddress(text);
    return true;
  } catch {
    return false;
  }
}

function readAddress(field: string, text: string): Address {
  if (!isAddress(text)) throw new Error(`${field} must be an address${field.endsWith('upgradeAuthority') ? ' or final' : ''}, not ${text}`);
  return parseAddress(text);
}

/** Reads a key that has a private key. Error messages never contain the content of the file. */
function readKey(field: string, text: string, file: string, parse: (text: string) => Signer | null): DeploymentKey {
  if (isAddress(text)) {
    const address = parseAddress(text);
    if (!isOnCurve(address)) throw new Error(`${field} must be the address of a key, and ${text} has no private key`);
    return { field, address, signer: null, file: null };
  }
  // The messages below contain the text.
  if (parse(text) !== null) throw new Error(`${field} must be the path of a file with the key, and not the key itself`);
  let content: string;
  try {
    content = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new Error(`${field} must be an address or the file of a key; the file ${file} cannot be read`, { cause });
  }
  const signer = parse(content);
  if (signer === null) throw new Error(`${field}: the file ${file} must contain a secret key: a JSON array of 64 numbers, or base58 of 64 bytes`);
  return { field, address: signer.publicKey, signer, file };
}

/** Parses the seed of the key of receipts, in the form of RECEIPT_KEY. */
function parseSeed(text: string): Signer | null {
  const seed = Buffer.from(text, 'base64');
  return seed.length === 32 && seed.toString('base64') === text ? signerFromSeed(seed) : null;
}

/** @throws when one key has two tasks that must be separate */
function checkKeys({ clusterName, distributor, draws, roles }: Pick<Deployment, 'clusterName' | 'distributor' | 'draws' | 'roles'>): void {
  if (distributor.program.address.equals(draws.program.address)) throw new Error('distributor.program and draws.program must be two keys');
  const { upgradeAuthority } = distributor;
  const role = Object.values(roles).find(({ address }) => upgradeAuthority?.equals(address));
  if (role) throw new Error(`distributor.upgradeAuthority must be another key than ${role.field}, because it can replace the program`);
  if (clusterName === 'mainnet-beta' && draws.isDevelopment) throw new Error('draws.development must be left out on mainnet-beta');
}
