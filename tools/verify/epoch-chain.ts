import { type Address, addressOfBytes, deriveAddress, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { Unreadable, VerificationFailure } from './epoch-published.ts';

/** The account of an epoch; programs/distributor/README.md describes its 240 bytes. Times are Unix seconds. */
export interface EpochAccount {
  readonly address: Address;
  readonly state: 'open' | 'settled' | 'closed';
  readonly leaves: number;
  readonly epoch: bigint;
  readonly total: bigint;
  readonly claimed: bigint;
  readonly expiry: number;
  readonly root: string;
  readonly authority: string;
  readonly mint: string;
  readonly vault: string;
}

/** Reads finalized accounts, at most 100 at the same slot. Throws `Unreadable` when the node does not answer. */
export type AccountReader = (addresses: readonly Address[]) => Promise<readonly FetchedAccount[]>;

export const TOKEN_PROGRAM = parseAddress('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const ASSOCIATED_TOKEN_PROGRAM = parseAddress('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const EPOCH_BYTES = 240;
const PAGE_HEADER_BYTES = 48;
const CLAIMS_PER_PAGE = 4_096;
const ACCOUNTS_PER_REQUEST = 100;
/** How often the pages are read again when claims arrive while they are read. */
const MAX_READS = 10;
const STATES: Readonly<Record<number, EpochAccount['state']>> = { 1: 'open', 2: 'settled', 3: 'closed' };

/** Opens a Solana node for reading accounts. */
export function readerOf(rpc: string): AccountReader {
  const node = new RpcNode(rpc, { retriesRateLimit: true });
  return async (addresses) => {
    try {
      return (await node.accounts(addresses, 'finalized')).accounts;
    } catch (error) {
      const cause = Error.isError(error) ? (error.cause ?? error) : error;
      throw new Unreadable(`${rpc} cannot be read: ${Error.isError(cause) ? cause.message : String(cause)}`);
    }
  };
}

export function epochAddress(program: Address, authority: Address, mint: Address, epoch: number): Address {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(epoch));
  return deriveAddress(program, Buffer.from('epoch'), authority.toBytes(), mint.toBytes(), number);
}

export const vaultAddress = (epoch: Address, mint: Address): Address =>
  deriveAddress(ASSOCIATED_TOKEN_PROGRAM, epoch.toBytes(), TOKEN_PROGRAM.toBytes(), mint.toBytes());

function pageAddress(program: Address, epoch: Address, page: number): Address {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(page);
  return deriveAddress(program, Buffer.from('claimed'), epoch.toBytes(), number);
}

/** Decodes the account of an epoch. @throws VerificationFailure when it is none */
export function decodeEpoch(program: Address, address: Address, account: FetchedAccount | undefined): EpochAccount {
  if (!account?.owner.equals(program)) throw new VerificationFailure(`on the chain, there is no account of the program at ${address}`);
  const { data } = account;
  const state = STATES[data[9] ?? 0];
  const isEpoch = data.length === EPOCH_BYTES && data.toString('latin1', 0, 8) === 'CoinopEp' && data[8] === 1;
  if (!isEpoch || state === undefined) throw new VerificationFailure(`on the chain, the account ${address} is not an epoch`);
  const key = (at: number) => addressOfBytes(data.subarray(at, at + 32)).toBase58();
  return {
    ...{ address, state, leaves: data.readUInt32LE(12), epoch: data.readBigUInt64LE(16) },
    ...{ total: data.readBigUInt64LE(24), claimed: data.readBigUInt64LE(32), expiry: Number(data.readBigInt64LE(40)) },
    ...{ root: data.toString('hex', 48, 80), authority: key(80), mint: key(112), vault: key(144) },
  };
}

/** The claims that the pages of an epoch mark as paid. */
export interface PaidClaims {
  readonly count: number;
  readonly sum: bigint;
}

/** Counts the marked claims of a page. @throws VerificationFailure when the account is not the page */
function readPage(
  program: Address,
  { address, leaves }: EpochAccount,
  page: number,
  account: FetchedAccount | undefined,
  amounts: readonly bigint[],
) {
  let [count, sum] = [0, 0n];
  // Anybody can send lamports to the address of a page that does not exist yet. The program does not own such an account.
  if (!account?.owner.equals(program)) return { count, sum };
  const { data } = account;
  const first = CLAIMS_PER_PAGE * page;
  const claims = Math.min(CLAIMS_PER_PAGE, leaves - first);
  const hasForm = data.length === PAGE_HEADER_BYTES + Math.ceil(claims / 8) && data.toString('latin1', 0, 8) === 'CoinopPg' && data[8] === 1;
  if (!hasForm || data.readUInt32LE(12) !== page || !data.subarray(16, 48).equals(address.toBytes()))
    throw new VerificationFailure(`on the chain, page ${page} of the claims is not a page of this epoch`);
  for (let i = 0; i < 8 * (data.length - PAGE_HEADER_BYTES); i++) {
    if ((((data[PAGE_HEADER_BYTES + (i >> 3)] ?? 0) >> (i & 7)) & 1) === 0) continue;
    if (i >= claims) throw new VerificationFailure(`on the chain, page ${page} marks claim ${first + i}, but there are ${leaves} leaves`);
    count++;
    sum += amounts[first + i] ?? 0n;
  }
  return { count, sum };
}

/** An epoch on the chain. `paid` is null when the epoch is closed, because then its pages may be deleted. */
export interface EpochOnChain {
  readonly epoch: EpochAccount;
  readonly vault: FetchedAccount | undefined;
  readonly paid: PaidClaims | null;
}

/**
 * Reads an epoch, the pages of its claims and its vault at a time at which no claim arrives.
 * @param amounts the amount of each leaf, in the order of the leaves
 */
export async function readEpoch(
  reader: AccountReader,
  program: Address,
  { address, vault: vaultKey }: { readonly address: Address; readonly vault: Address },
  amounts: readonly bigint[],
): Promise<EpochOnChain> {
  const pages = Math.ceil(amounts.length / CLAIMS_PER_PAGE);
  for (let read = 0; read < MAX_READS; read++) {
    const [before] = await reader([address]);
    const epoch = decodeEpoch(program, address, before);
    if (epoch.state === 'closed') return { epoch, vault: undefined, paid: null };
    let [count, sum] = [0, 0n];
    for (let first = 0; first < pages; first += ACCOUNTS_PER_REQUEST) {
      const numbers = Array.from({ length: Math.min(ACCOUNTS_PER_REQUEST, pages - first) }, (_, i) => first + i);
      const accounts = await reader(numbers.map((page) => pageAddress(program, address, page)));
      for (const [i, page] of numbers.entries()) {
        const paid = readPage(program, epoch, page, accounts[i], amounts);
        count += paid.count;
        sum += paid.sum;
      }
    }
    const [after, vault] = await reader([address, vaultKey]);
    const { claimed, state } = decodeEpoch(program, address, after);
    if (claimed === epoch.claimed && state === epoch.state) return { epoch, vault, paid: { count, sum } };
  }
  throw new Unreadable('claims arrive faster than the node answers; verify the epoch again later');
}
