import bs58 from 'bs58';
import { programAddress } from '../../../../src/lib/draw/accounts.ts';
import { base58Bytes, toHex, u32, u64, utf8 } from '../../../../src/lib/draw/bytes.ts';
import type { Account, Chain } from '../chain.ts';
import { Lie, Unknown } from '../report.ts';

/** The account of an epoch; programs/distributor/README.md describes its 240 bytes. Times are Unix seconds. */
export interface EpochAccount {
  readonly address: string;
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

/** Reads finalized accounts, at most 100 at the same slot. Throws `Unknown` when the node does not answer. */
export type AccountReader = Chain['accounts'];

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const ASSOCIATED_TOKEN_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL';
const EPOCH_BYTES = 240;
const PAGE_HEADER_BYTES = 48;
const CLAIMS_PER_PAGE = 4_096;
const ACCOUNTS_PER_REQUEST = 100;
/** How often the pages are read again when claims arrive while they are read. */
const MAX_READS = 10;
const STATES: Readonly<Record<number, EpochAccount['state']>> = { 1: 'open', 2: 'settled', 3: 'closed' };

export const epochAddress = (program: string, authority: string, mint: string, epoch: number): string =>
  programAddress(program, utf8('epoch'), base58Bytes(authority), base58Bytes(mint), u64(epoch)).address;

export const vaultAddress = (epoch: string, mint: string): string =>
  programAddress(ASSOCIATED_TOKEN_PROGRAM, base58Bytes(epoch), base58Bytes(TOKEN_PROGRAM), base58Bytes(mint)).address;

const pageAddress = (program: string, epoch: string, page: number): string =>
  programAddress(program, utf8('claimed'), base58Bytes(epoch), u32(page)).address;

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView => new DataView(buffer, byteOffset, byteLength);
const startsWith = (data: Uint8Array, name: string): boolean => [...utf8(name), 1].every((byte, i) => data[i] === byte);

/** Returns whether a part of the data of an account is an address. */
export const hasAddress = (data: Uint8Array, at: number, address: string): boolean => base58Bytes(address).every((byte, i) => data[at + i] === byte);

/** Decodes the account of an epoch. @throws Lie when it is none */
export function decodeEpoch(program: string, address: string, account: Account | null | undefined): EpochAccount {
  if (account?.owner !== program) throw new Lie('account', `on the chain, there is no account of the program at ${address}`);
  const { data } = account;
  const view = viewOf(data);
  const state = STATES[data[9] ?? 0];
  if (data.length !== EPOCH_BYTES || !startsWith(data, 'CoinopEp') || state === undefined)
    throw new Lie('account', `on the chain, the account ${address} is not an epoch`);
  const key = (at: number) => bs58.encode(data.subarray(at, at + 32));
  return {
    ...{ address, state, leaves: view.getUint32(12, true), epoch: view.getBigUint64(16, true) },
    ...{ total: view.getBigUint64(24, true), claimed: view.getBigUint64(32, true), expiry: Number(view.getBigInt64(40, true)) },
    ...{ root: toHex(data.subarray(48, 80)), authority: key(80), mint: key(112), vault: key(144) },
  };
}

/** The claims that the pages of an epoch mark as paid. */
export interface PaidClaims {
  readonly count: number;
  readonly sum: bigint;
}

/** Counts the marked claims of a page. @throws Lie when the account is not the page */
function readPage(program: string, { address, leaves }: EpochAccount, page: number, account: Account | null | undefined, amounts: readonly bigint[]) {
  let [count, sum] = [0, 0n];
  // Anybody can send lamports to the address of a page that does not exist yet. The program does not own such an account.
  if (account?.owner !== program) return { count, sum };
  const { data } = account;
  const first = CLAIMS_PER_PAGE * page;
  const claims = Math.min(CLAIMS_PER_PAGE, leaves - first);
  const hasForm = data.length === PAGE_HEADER_BYTES + Math.ceil(claims / 8) && startsWith(data, 'CoinopPg');
  if (!hasForm || viewOf(data).getUint32(12, true) !== page || !hasAddress(data, 16, address))
    throw new Lie('claims', `on the chain, page ${page} of the claims is not a page of this epoch`);
  for (let i = 0; i < 8 * (data.length - PAGE_HEADER_BYTES); i++) {
    if ((((data[PAGE_HEADER_BYTES + (i >> 3)] ?? 0) >> (i & 7)) & 1) === 0) continue;
    if (i >= claims) throw new Lie('claims', `on the chain, page ${page} marks claim ${first + i}, but there are ${leaves} leaves`);
    count++;
    sum += amounts[first + i] ?? 0n;
  }
  return { count, sum };
}

/** An epoch on the chain. `paid` is null when the epoch is closed, because then its pages may be deleted. */
export interface EpochOnChain {
  readonly epoch: EpochAccount;
  readonly vault: Account | null;
  readonly paid: PaidClaims | null;
}

/**
 * Reads an epoch, the pages of its claims and its vault at a time at which no claim arrives.
 * @param amounts the amount of each leaf, in the order of the leaves
 */
export async function readEpoch(
  reader: AccountReader,
  program: string,
  { address, vault: vaultKey }: { readonly address: string; readonly vault: string },
  amounts: readonly bigint[],
): Promise<EpochOnChain> {
  const pages = Math.ceil(amounts.length / CLAIMS_PER_PAGE);
  for (let read = 0; read < MAX_READS; read++) {
    const [before] = await reader([address]);
    const epoch = decodeEpoch(program, address, before);
    if (epoch.state === 'closed') return { epoch, vault: null, paid: null };
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
    const [after, vault = null] = await reader([address, vaultKey]);
    const { claimed, state } = decodeEpoch(program, address, after);
    if (claimed === epoch.claimed && state === epoch.state) return { epoch, vault, paid: { count, sum } };
  }
  throw new Unknown('claims', 'claims arrive faster than the node answers; verify the epoch again later');
}
