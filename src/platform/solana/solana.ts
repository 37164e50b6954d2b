import { readFileSync } from 'node:fs';
import type { Config } from '#config';
import { unavailable } from '#lib/errors.ts';
import type { Logger } from '#platform/observability/log.ts';
import { type Address, parseAddress, parseSecretKey } from './primitives.ts';
import { RequestBudget } from './request-budget.ts';
import { RpcNode } from './rpc-node.ts';
import { isSigner, localKey, PREFIX_OF, RemoteKey, type Role, type RoleKey } from './signers/index.ts';

/**
 * The RPC nodes, addresses and keys of this process. `openChain` sends no request and accepts missing settings; the first use of a missing
 * setting throws.
 */
export interface Chain {
  readonly node: RpcNode;
  /** The second RPC node; null when no second node is configured. */
  readonly second: RpcNode | null;
  /** The address of the distributor program. Reading this or one of the next four addresses throws 503 when its value is not configured. */
  readonly programId: Address;
  /** The program of draw commitments, and its account with the settings of all draws. */
  readonly drawsProgramId: Address;
  readonly drawsAddress: Address;
  readonly rewardMint: Address;
  readonly usdcMint: Address;
  /**
   * Returns the key of a role, with which this process signs, itself or through a signer.
   * @throws 503 when this process has neither the key nor a signer
   */
  key(role: Role): RoleKey;
  /**
   * Returns the address of a role, even when this process does not have the key.
   * @throws 503 when neither the address nor the key is configured
   */
  address(role: Role): Address;
}

/** Opens the RPC nodes, addresses and keys of a process. @param log receives the outages of signers */
export function openChain({ chain }: Pick<Config, 'chain'>, log: Logger | null = null): Chain {
  const keys = new Map<Role, RoleKey>();
  const address = (value: string | null, variable: string) => {
    if (value === null) throw unavailable(`${variable} is not configured`, 60);
    return parseAddress(value);
  };
  const openKey = (role: Role): RoleKey => {
    const source = chain.secrets[role];
    if (!source) throw unavailable(`the key of ${role} is not configured`, 60);
    if (isSigner(source)) return new RemoteKey(role, address(chain.addresses[role], `${PREFIX_OF[role]}_ADDRESS`), source, log);
    return readKey(role, source);
  };
  const key = (role: Role): RoleKey => {
    const opened = keys.get(role) ?? openKey(role);
    keys.set(role, opened);
    return opened;
  };
  const openNode = (url: string) => new RpcNode(url, { budget: new RequestBudget(chain.rpcPerSecond) });
  return {
    node: openNode(chain.rpcUrl),
    second: chain.secondRpcUrl === null ? null : openNode(chain.secondRpcUrl),
    get programId() {
      return address(chain.programId, 'DISTRIBUTOR_PROGRAM_ID');
    },
    get drawsProgramId() {
      return address(chain.drawsProgramId, 'DRAWS_PROGRAM_ID');
    },
    get drawsAddress() {
      return address(chain.drawsAddress, 'DRAWS_ADDRESS');
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
      if (own !== configured) throw new Error(`${PREFIX_OF[role]}_KEY does not belong to ${PREFIX_OF[role]}_ADDRESS`);
      return parseAddress(configured);
    },
  };
}

/** Reads the secret key of a role. Error messages name the role and never contain the key. */
function readKey(role: Role, secret: { readonly file: string } | { readonly text: string }): RoleKey {
  const text = ('file' in secret ? readFileSync(secret.file, 'utf8') : secret.text).trim();
  const key = parseSecretKey(text);
  if (key !== null) return localKey(key);
  throw new Error(`the key of ${role} must be a JSON array of 64 numbers or base58 of 64 bytes, and its public half must match its secret half`);
}
