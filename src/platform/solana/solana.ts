import { readFileSync } from 'node:fs';
import { Connection, Keypair, PublicKey } from '@solana/web3.js';
import bs58 from 'bs58';
import type { Config } from '#config';
import { HttpError, unavailable } from '#lib/errors.ts';
import { observeRpc } from '#platform/observability/metrics/metrics.ts';
import { traceRpc } from '#platform/observability/tracing/tracing.ts';
import type { Role, Secret } from './config.ts';

/**
 * The RPC connections, addresses and keys of this process. `openChain` sends no request and accepts missing settings; the first use of a missing
 * setting throws.
 */
export interface Chain {
  /**
   * The RPC connection, with commitment `confirmed` by default. Send each request through `rpc`, so that a failure of the RPC node becomes a 503
   * error.
   */
  readonly connection: Connection;
  /** The connection to the second RPC node; null when no second node is configured. */
  readonly second: Connection | null;
  /** The address of the distributor program. Reading `programId`, `rewardMint` or `usdcMint` throws 503 when its value is not configured. */
  readonly programId: PublicKey;
  readonly rewardMint: PublicKey;
  readonly usdcMint: PublicKey;
  /**
   * Returns the key pair of a role.
   * @throws 503 when this process does not have the key
   */
  key(role: Role): Keypair;
  /**
   * Returns the address of a role, even when this process does not have the key.
   * @throws 503 when neither the address nor the key is configured
   */
  address(role: 'treasury' | 'committer'): PublicKey;
}

/** Timeout of an RPC request, ms. */
const RPC_TIMEOUT_MS = 10_000;

/** Opens the RPC connections, addresses and keys of a process. */
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
      const configured = chain.addresses[role];
      if (configured === null) return key(role).publicKey;
      const own = chain.secrets[role] ? key(role).publicKey.toBase58() : configured;
      if (own !== configured) throw new Error(`${role.toUpperCase()}_KEY does not belong to ${role.toUpperCase()}_ADDRESS`);
      return new PublicKey(configured);
    },
  };
}

function connect(url: string): Connection {
  return new Connection(url, {
    commitment: 'confirmed',
    // Disables the retries of web3.js, because only the caller knows whether a request is still needed.
    disableRetryOnRateLimit: true,
    fetch: fetchRpc,
  });
}

/** Thrown when the RPC node sent no response. */
class NodeUnreachable extends Error {}

/**
 * Sends an RPC request. Wraps a network error in an error of this JavaScript realm, because a web3.js call never settles when its request fails with
 * an error of another realm.
 */
async function fetchRpc(input: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]): Promise<Response> {
  const method = methodOf(init?.body);
  const send = () => fetch(input, { ...init, signal: AbortSignal.timeout(RPC_TIMEOUT_MS) });
  try {
    return await observeRpc(method, () => traceRpc(method, hostOf(input), send));
  } catch (cause) {
    throw new NodeUnreachable('the RPC node cannot be reached', { cause });
  }
}

/** Returns the name of the RPC method in a request body. web3.js writes `method` as the first field of the body. */
const methodOf = (body: unknown): string => (typeof body === 'string' && /^\{"method":"(\w+)"/.exec(body)?.[1]) || 'other';

/** Returns only the host of a URL, because the rest may contain an API key. */
const hostOf = (input: Parameters<typeof fetch>[0]): string => new URL(input instanceof Request ? input.url : input).hostname;

/** Reads the secret key of a role. Error messages name the role and never contain the key. */
function readKey(role: Role, secret: Secret): Keypair {
  const text = ('file' in secret ? readFileSync(secret.file, 'utf8') : secret.text).trim();
  const bytes = text.startsWith('[') ? jsonBytes(text) : bs58.decodeUnsafe(text);
  if (bytes?.length === 64) {
    try {
      return Keypair.fromSecretKey(bytes);
    } catch {
      // `fromSecretKey` throws when the public half of the key does not match its secret half. The error below reports this.
    }
  }
  throw new Error(`the key of ${role} must be a JSON array of 64 numbers or base58 of 64 bytes, and its public half must match its secret half`);
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
 * Runs an RPC request.
 * @throws 503 when the RPC node does not answer, limits the rate, or fails. An error about the request itself is thrown unchanged
 */
export async function rpc<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof HttpError || !isNodeFailure(error)) throw error;
    throw Object.assign(unavailable('the RPC node does not answer at the moment, try again', 2), { cause: error });
  }
}

/** JSON-RPC error codes of an RPC node that is unhealthy, lags behind, or does not have the requested slot or block. */
const NODE_CODES = new Set([-32004, -32005, -32007, -32014, -32015, -32016, -32603]);

/** Returns whether an error is caused by the RPC node, and not by the request. */
function isNodeFailure(error: unknown): boolean {
  if (!Error.isError(error)) return false;
  if ('code' in error && typeof error.code === 'number') return NODE_CODES.has(error.code);
  // web3.js reports other failures only in the message: an HTTP status (`503 Service Unavailable: …`), an invalid or truncated response. Some web3.js
  // methods put their own text before this message.
  return (
    error instanceof NodeUnreachable ||
    /(?:^|: Error: )(?:429|5\d\d) |the RPC node cannot be reached|terminated|aborted|Expected the value to satisfy|Unexpected (?:token|end)/i.test(
      error.message,
    )
  );
}
