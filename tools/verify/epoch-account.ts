import { type Address, addressOfBytes, deriveAddress, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { unreadableNode } from './chain-reader.ts';
import { type Epoch, VerificationFailure } from './epoch-published.ts';

/** Addresses that the user of this tool specifies, so that the tool does not trust the addresses that the service reports. */
export interface Pinned {
  readonly program?: string;
  readonly authority?: string;
  readonly mint?: string;
}

type OnChain = NonNullable<Epoch['onChain']>;

const TOKEN_PROGRAM = parseAddress('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const ASSOCIATED_TOKEN_PROGRAM = parseAddress('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const STATES: Readonly<Record<number, string>> = { 1: 'open', 2: 'settled', 3: 'closed' };
/** For each epoch status that the service may report, the allowed states of the account on the chain. */
const ALLOWED_STATES: Readonly<Record<string, readonly string[]>> = {
  committed: ['open'],
  expired: ['open', 'closed'],
  settled: ['settled', 'closed'],
};

function assertEqual(name: string, found: unknown, reported: unknown): void {
  if (String(found) !== String(reported)) throw new VerificationFailure(`on the chain, ${name} is ${found}; the service reports ${reported}`);
}

/** Decodes the 240 bytes of an epoch's account; the layout is documented in the README of the program. */
function decode(data: Buffer) {
  const key = (at: number) => addressOfBytes(data.subarray(at, at + 32)).toBase58();
  return {
    tag: data.toString('latin1', 0, 8),
    version: data.readUInt8(8),
    state: STATES[data.readUInt8(9)] ?? 'unknown',
    leaves: data.readUInt32LE(12),
    epoch: data.readBigUInt64LE(16),
    total: data.readBigUInt64LE(24),
    claimed: data.readBigUInt64LE(32),
    expiry: Number(data.readBigInt64LE(40)),
    root: data.toString('hex', 48, 80),
    authority: key(80),
    mint: key(112),
    vault: key(144),
  };
}

/**
 * Compares an epoch with its account on the chain. The address of the account is derived from the addresses of the program, the authority and the
 * mint, and from the epoch number.
 * @param reported the account as reported by the service
 * @returns the results, one sentence each
 * @throws VerificationFailure when a value differs; Unreadable when the RPC node does not answer
 */
export async function checkAccount(epoch: Epoch, reported: OnChain, rpc: string, pinned: Pinned): Promise<string[]> {
  for (const [name, address] of Object.entries(pinned)) {
    const shown = Reflect.get(reported, name);
    if (shown !== address) throw new VerificationFailure(`the ${name} is ${shown}, not ${address}`);
  }
  const program = parseAddress(reported.program);
  const mint = parseAddress(reported.mint);
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(epoch.epoch));
  const address = deriveAddress(program, Buffer.from('epoch'), parseAddress(reported.authority).toBytes(), mint.toBytes(), number);
  const vault = deriveAddress(ASSOCIATED_TOKEN_PROGRAM, address.toBytes(), TOKEN_PROGRAM.toBytes(), mint.toBytes());
  assertEqual('the address of the epoch', address, reported.account);
  assertEqual('the address of the vault', vault, reported.vault);

  const [account, tokens] = await read(rpc, [address, vault]);
  if (!account?.owner.equals(program)) throw new VerificationFailure(`on the chain, there is no account of the program at ${address}`);
  const found = account.data.length === 240 ? decode(account.data) : null;
  if (found?.tag !== 'CoinopEp' || found.version !== 1) throw new VerificationFailure(`on the chain, the account ${address} is not an epoch`);
  assertEqual('the number', found.epoch, epoch.epoch);
  assertEqual('the root', found.root, epoch.root);
  assertEqual('the total', found.total, epoch.total);
  assertEqual('the number of leaves', found.leaves, epoch.leaves);
  assertEqual('the authority', found.authority, reported.authority);
  assertEqual('the mint', found.mint, reported.mint);
  assertEqual('the vault', found.vault, reported.vault);
  assertEqual('the expiry', found.expiry, epoch.expiresAt === null ? null : Date.parse(epoch.expiresAt) / 1_000);
  const isSettling = epoch.settleRequestedAt !== null && found.state !== 'open';
  if (!isSettling && !ALLOWED_STATES[epoch.status]?.includes(found.state))
    throw new VerificationFailure(`on the chain, the epoch is ${found.state}; the service reports ${epoch.status}`);
  // The service may have read the account earlier than this tool, so the claimed amount on the chain may be equal or higher; a lower amount is a
  // fault.
  if (found.claimed < reported.claimed)
    throw new VerificationFailure(`on the chain, ${found.claimed} is claimed; the service reports ${reported.claimed}`);
  if (found.state === 'open') {
    const held = tokens?.owner.equals(TOKEN_PROGRAM) && tokens.data.length === 165 ? tokens.data.readBigUInt64LE(64) : 0n;
    if (held < found.total - found.claimed)
      throw new VerificationFailure(`on the chain, the vault holds ${held}, but ${found.total - found.claimed} are not claimed`);
  }
  return [
    `on the chain: ${address}, ${found.state}; ${found.claimed} of ${found.total} claimed, and the vault holds the rest`,
    `program ${reported.program}, authority ${reported.authority}, mint ${reported.mint}`,
  ];
}

async function read(rpc: string, keys: readonly Address[]): Promise<readonly FetchedAccount[]> {
  try {
    return (await new RpcNode(rpc).accounts(keys, 'finalized')).accounts;
  } catch (error) {
    throw unreadableNode(rpc, error);
  }
}
