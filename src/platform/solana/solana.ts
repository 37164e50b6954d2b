import { readFileSync } from 'node:fs';
import { Connection, Keypair, PublicKey } from '@solana/web3.js';
import bs58 from 'bs58';
import type { Config } from '#config';
import { HttpError, unavailable } from '#lib/errors.ts';
import { observeCall } from '#platform/observability/metrics/metrics.ts';
import { traceCall } from '#platform/observability/tracing/tracing.ts';
import type { Role, Secret } from './config.ts';

/** The chain as this process sees it. Opening it asks nothing: what is missing is found out by who needs it. */
export interface Chain {
  /** Reads at `confirmed` unless told otherwise. Ask through `rpc`, so that a node that is down is 503. */
  readonly connection: Connection;
  /** A second provider, where one is configured. */
  readonly second: Connection | null;
  /** @throws 503 when it is not configured */
  readonly programId: PublicKey;
  readonly rewardMint: PublicKey;
  readonly usdcMint: PublicKey;
  /** The key of a role. @throws 503 when this process was not given it */
  key(role: Role): Keypair;
  /** The address of a role, which a process without its key is told. @throws 503 when it has neither */
  address(role: 'treasury' | 'committer'): PublicKey;
}

/** How long a node may take to answer, ms. */
const ANSWER_WITHIN_MS = 10_000;

/** Opens the chain. */
export function openChain({ chain }: Pick<Config, 'chain'>): Chain {
  const keys = new Map<Role, Keypair>();
  const address = (value: string | null, variable: string) => {
    if (value === null) throw unavailable(`${variable} is not configured`, 60);
    return new PublicKey(value);
  };
  const key = (role: Role): Keypair => {
    const known = keys.get(role);
    if (known) return known;
    const secret = chain.secrets[role];
    if (!secret) throw unavailable(`the key of ${role} is not configured`, 60);
    const read = readKey(role, secret);
    keys.set(role, read);
    return read;
  };
  return {
    connection: connect(chain.rpcUrl),
    second: chain.secondRpcUrl === null ? null : connect(chain.secondRpcUrl),
    get programId() {
      return address(chain.programId, 'DISTRIBUTOR_PROGRAM_ID');
    },
    get rewardMint() {
      return address(chain.rewardMint, 'REWARD_MINT');
    },
    get usdcMint() {
      return address(chain.usdcMint, 'USDC_MINT');
    },
    key,
    address(role) {
      const told = chain.addresses[role];
      if (told === null) return key(role).publicKey;
      const own = chain.secrets[role] ? key(role).publicKey.toBase58() : told;
      if (own !== told) throw new Error(`${role.toUpperCase()}_KEY is not the key of ${role.toUpperCase()}_ADDRESS`);
      return new PublicKey(told);
    },
  };
}

function connect(url: string): Connection {
  return new Connection(url, {
    commitment: 'confirmed',
    // Tried again by whoever knows whether it still matters.
    disableRetryOnRateLimit: true,
    fetch: reach,
  });
}

/** The node did not answer at all. */
class NodeUnreachable extends Error {}

/** An answer, or an error that web3.js passes on: it never settles for one that another realm made. */
async function reach(input: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]): Promise<Response> {
  const method = methodOf(init?.body);
  const ask = () => fetch(input, { ...init, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  try {
    return await observeCall(method, () => traceCall(method, hostOf(input), ask));
  } catch (cause) {
    throw new NodeUnreachable('the node cannot be reached', { cause });
  }
}

/** What is asked for, as web3.js writes it: the method comes first. */
const methodOf = (body: unknown): string => (typeof body === 'string' && /^\{"method":"(\w+)"/.exec(body)?.[1]) || 'other';

/** The rest of an address may be a secret. */
const hostOf = (input: Parameters<typeof fetch>[0]): string => new URL(input instanceof Request ? input.url : input).hostname;

/** Errors name the role and never the secret. */
function readKey(role: Role, secret: Secret): Keypair {
  const text = ('file' in secret ? readFileSync(secret.file, 'utf8') : secret.text).trim();
  const bytes = text.startsWith('[') ? jsonBytes(text) : bs58.decodeUnsafe(text);
  if (bytes?.length === 64) {
    try {
      return Keypair.fromSecretKey(bytes);
    } catch {
      // Its halves do not belong together.
    }
  }
  throw new Error(`the key of ${role} must be a JSON array of 64 numbers or base58 of 64 bytes`);
}

function jsonBytes(text: string): Uint8Array | null {
  try {
    const value: unknown = JSON.parse(text);
    const isByte = (n: unknown): n is number => typeof n === 'number' && Number.isInteger(n) && n >= 0 && n <= 255;
    return Array.isArray(value) && value.every(isByte) ? Uint8Array.from(value) : null;
  } catch {
    return null;
  }
}

/**
 * Asks a node.
 * @throws 503 when it does not answer, limits us, or fails; what it answered as an error of ours is passed on
 */
export async function rpc<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof HttpError || !isNodeFailure(error)) throw error;
    throw Object.assign(unavailable('the chain cannot be asked at the moment, try again', 2), { cause: error });
  }
}

/** JSON-RPC codes by which a node says that it is behind or cannot serve: unhealthy, slot or block not available (yet), minimum context slot not reached. */
const NODE_CODES = new Set([-32004, -32005, -32007, -32014, -32015, -32016, -32603]);

/** Whether the node, and not the question, is at fault. */
export function isNodeFailure(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  if ('code' in error && typeof error.code === 'number') return NODE_CODES.has(error.code);
  // web3.js says the rest in words: `503 Service Unavailable: …`, or an answer that is no JSON-RPC, or that breaks off; some
  // methods put words of their own before it.
  return (
    error instanceof NodeUnreachable ||
    /(?:^|: Error: )(?:429|5\d\d) |the node cannot be reached|terminated|aborted|Expected the value to satisfy|Unexpected (?:token|end)/i.test(
      error.message,
    )
  );
}
